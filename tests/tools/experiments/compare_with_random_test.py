"""The tool that compares fine-tuning from a checkpoint and from random weights."""

import json

import pytest

from albert_keras import sample
from albert_keras.converters import save_checkpoint
from tests.tasks.task_checks import make_backbone, make_tokenizer
from tools.experiments.compare_with_random import main


@pytest.mark.slow
def test_runs_from_both_starts_are_compared(tmp_path, capsys):
    for source, name in ((sample.REVIEWS_TRAIN, "train"), (sample.REVIEWS_TEST, "dev")):
        (tmp_path / f"{name}.tsv").symlink_to(source)
    save_checkpoint(make_backbone(), tmp_path / "model", tokenizer=make_tokenizer())
    output = tmp_path / "comparison"
    task = f"text-classification={tmp_path}"
    words = ["--checkpoint", str(tmp_path / "model"), "--output", str(output)]
    words += ["--task", task, "--seeds", "2", "--"]
    main([*words, *"--num-steps 3 --batch-size 5 --sequence-length 17".split()])
    printed = capsys.readouterr().out
    results = json.loads((output / "results.json").read_text())
    compared = results["tasks"]["text-classification"]
    assert compared["metric"] == "accuracy"
    for start in ("pretrained", "random"):
        scores = []
        for seed in (0, 1):
            run = output / "text-classification" / start / f"seed-{seed}"
            description = json.loads((run / "run.json").read_text())
            assert description["config"]["random_weights"] == (start == "random")
            assert description["config"]["num_steps"] == 3
            report = json.loads((run / "report.json").read_text())
            scores.append(report["scores"]["accuracy"])
        assert compared[start]["scores"] == scores
        assert results["mean"][start] == pytest.approx(sum(scores) / 2)
        assert compared[start]["command"] in printed
    (row,) = [x for x in printed.splitlines() if x.startswith("| text-class")]
    gain = 100 * (results["mean"]["pretrained"] - results["mean"]["random"])
    # The sample's reviews are easy for a linear model.
    assert compared["linear"] > 0.8
    assert row.endswith(f"| {gain:+.1f} | {100 * compared['linear']:.1f} |")
