"""The tool that repeats the paper's ablations."""

import pytest

from albert_keras import cli, sample
from albert_keras.cli.options import config_from
from albert_keras.pretraining.phases import Phase
from albert_keras.runs.pretraining_config import PretrainingRunConfig
from albert_keras.system.files import read_json, write_json
from albert_keras.tasks import TASKS
from tests.cli.conftest import vocabulary
from tools.experiments import ablate, harness

__all__ = ["vocabulary"]

SMALL = ("--preset=albert_test", "--num-layers=1")
NAMES = [(name, arm) for name, of in ablate.ABLATIONS.items() for arm in of.arms]


@pytest.mark.parametrize(("name", "arm"), NAMES, ids=map("-".join, NAMES))
def test_every_arm_is_a_pretraining_run(name, arm):
    words = [name, "--text", "corpus", "--output", "out", "--sequence-length", "33"]
    arguments = ablate.parse([*words, "--pretrain-option=--preset=albert_nano_en"])
    words = [*ablate.command(arguments, arm, 500, 7), "--run", "run"]
    run = config_from(cli.parse(words), PretrainingRunConfig)
    assert run.seed == 7
    assert run.shape().max_sequence_length == 33
    shares = [share for share, _ in ablate.ABLATIONS[name].arms[arm].phases]
    assert sum(shares) == pytest.approx(1)
    assert [Phase.parse(x).num_steps for x in run.phases] == [
        round(500 * x) for x in shares
    ]


@pytest.mark.slow
def test_missing_runs_are_trained_measured_and_compared(
    tmp_path, vocabulary, capfd, monkeypatch
):
    def run_here(words, log=None):
        capfd.readouterr()
        assert cli.main([*map(str, words)]) == 0
        return capfd.readouterr().out

    monkeypatch.setattr(harness, "run_on_one_core", run_here)
    documents = sample.CORPUS.read_text("utf-8").split("\n\n")
    (tmp_path / "corpus.txt").write_text("\n\n".join(documents[:61]))
    out = tmp_path / "out"
    words = ["sentence-task", "--text", str(tmp_path / "corpus.txt"), "--output", out]
    words += ["--tokenizer", vocabulary, "--arms", "none", "sop", "--budget", 0.001]
    words += ["--sequence-length", 19, "--seeds", 2, "--workers", 1]
    words += [f"--pretrain-option={word}" for word in SMALL]
    words = [*map(str, words)]
    arguments = ablate.parse(words)
    config = {k: v for k, v in vars(arguments).items() if k not in ablate.CHANGEABLE}
    results = {"config": config, "runs": {"none": {}, "sop": {}}}
    out.mkdir()
    for arm, losses in {"none": (2.0, 2.25), "sop": (2.5,)}.items():
        for seed, loss in enumerate(losses):
            figures = {"mlm_loss": loss, "probe_nsp": 0.5, "probe_sop": 0.625}
            results["runs"][arm][str(seed)] = figures
    write_json(out / "results.json", results)
    ablate.main(words)
    results = read_json(out / "results.json")
    (num_steps,) = set(results["steps"].values())
    assert f"--phases num_steps={num_steps}," in results["commands"]["sop"]
    trained = results["runs"]["sop"]["1"]
    assert trained.keys() == ablate.MEASURES.keys() - TASKS.keys()
    # It hardly trained, so that the arm is not compared.
    assert [*results["compared"]] == ["none"]
    table = (out / "table.md").read_text()
    assert "| sop | in order, or swapped |" in table
    assert "sop is not compared: with seed 1 it stayed at the loss" in table
    assert (out / "ablation.png").stat().st_size > 0
    # What is finished is not repeated.
    monkeypatch.delattr(harness, "run_on_one_core")
    monkeypatch.setattr(ablate, "prepare", lambda *_: None)
    ablate.main(words)
    assert read_json(out / "results.json") == results
