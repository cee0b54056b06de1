"""The tool that compares fine-tuning from a checkpoint and from random weights."""

import json

import pytest

from albert_keras import sample
from tools.experiments import compare_with_random
from tools.experiments.compare_with_random import main

CHECKPOINT = ["--checkpoint", "albert_nano_en"]


@pytest.fixture
def refused(capsys):
    """Runs the tool with wrong arguments; returns its message."""

    def run(*words):
        with pytest.raises(SystemExit, match="2"):
            main([*CHECKPOINT, *map(str, words)])
        return capsys.readouterr().err

    return run


@pytest.mark.slow
def test_runs_from_both_starts_are_compared(tmp_path, capsys):
    for source, name in ((sample.REVIEWS_TRAIN, "train"), (sample.REVIEWS_TEST, "dev")):
        (tmp_path / f"{name}.tsv").symlink_to(source)
    output = tmp_path / "comparison"
    task = f"text-classification={tmp_path}"
    words = ["--output", str(output), "--task", task, "--seeds", "2"]
    words += ["--"]
    options = ["--num-steps", "3", "--batch-size", "5", "--sequence-length", "17"]
    main([*CHECKPOINT, *words, *options])
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
    assert (output / "comparison.png").stat().st_size > 1000


def test_each_start_takes_the_rate_that_is_best_on_training_rows(tmp_path, monkeypatch):
    for source, name in ((sample.REVIEWS_TRAIN, "train"), (sample.REVIEWS_TEST, "dev")):
        (tmp_path / f"{name}.tsv").symlink_to(source)
    called = []

    def finetune(arguments, task, start, name, words):
        called.append((start, name, words))
        # The first rate is better for pretrained weights, the second for random ones.
        is_better = (start == "pretrained") == name.endswith("1e-3")
        score = 0.75 if is_better else 0.5
        num_runs = 2 if "--seeds" in words else 1
        return [{"main_metric": "accuracy", "accuracy": score}] * num_runs

    monkeypatch.setattr(compare_with_random, "finetune", finetune)
    words = ["--output", str(tmp_path / "out"), "--learning-rates", "1e-3", "1e-2"]
    main([*CHECKPOINT, *words, "--task", f"text-classification={tmp_path}"])
    assert len(called) == 6
    for start, rate in (("pretrained", "1e-3"), ("random", "1e-2")):
        *trials, (_, name, words) = [call for call in called if call[0] == start]
        assert [trial for _, trial, _ in trials] == [
            f"{start}-rate-1e-3",
            f"{start}-rate-1e-2",
        ]
        for _, _, trial in trials:
            assert trial[:2] == ["--train", str(tmp_path / "train.tsv")]
            assert "--validation-split" in trial
        assert name == start
        assert words[-2:] == ["--learning-rate", rate]


@pytest.mark.parametrize("task", ["rte", "no-task=folder"])
def test_unknown_tasks_are_refused(tmp_path, task, refused):
    assert f"Received: {task}" in refused("--output", tmp_path / "x", "--task", task)


def test_tasks_without_held_out_rows_are_refused_before_any_training(tmp_path, refused):
    (tmp_path / "train.tsv").symlink_to(sample.REVIEWS_TRAIN)
    task = f"text-classification={tmp_path}"
    message = refused("--output", tmp_path / "x", "--task", task)
    assert "must have held-out rows" in message


def test_one_seed_is_refused(tmp_path, refused):
    words = ["--output", tmp_path / "x", "--task", f"rte={tmp_path}", "--seeds", "1"]
    assert "two or more. Received: 1" in refused(*words)
