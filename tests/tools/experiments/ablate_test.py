"""The tool that repeats the paper's ablations."""

import pathlib
import subprocess

import pytest

from albert_keras import cli, sample
from albert_keras.cli.options import config_from
from albert_keras.runs.pretraining_config import PretrainingRunConfig
from albert_keras.system.files import read_json, write_json
from tests.cli.conftest import vocabulary
from tests.figure_checks import check_layout, texts_of
from tools.experiments import ablate

__all__ = ["vocabulary"]

SMALL = ("--preset=albert_test", "--num-layers=1")
NAMES = [(name, arm) for name, of in ablate.ABLATIONS.items() for arm in of.arms]


@pytest.mark.parametrize(("name", "arm"), NAMES, ids=map("-".join, NAMES))
def test_every_arm_is_a_pretraining_run(name, arm):
    words = [name, "--text", "corpus", "--output", "out"]
    arguments = ablate.parse([*words, "--pretrain-option=--preset=albert_nano_en"])
    words = ablate.command(arguments, arm, 500, 7, pathlib.Path("run"))
    run = config_from(cli.parse(words), PretrainingRunConfig)
    assert run.seed == 7
    assert run.shape().max_sequence_length == 16
    growth = ablate.ABLATIONS[name].arms[arm].growth
    assert len(run.phases or [0]) == 1 + len(growth)


@pytest.mark.slow
def test_missing_runs_are_trained_measured_and_compared(
    tmp_path, vocabulary, capfd, monkeypatch
):
    def run_here(words, stdout=None, stderr=None):
        capfd.readouterr()
        assert cli.main(words) == 0
        return subprocess.CompletedProcess(words, 0, capfd.readouterr().out)

    monkeypatch.setattr(ablate, "run_on_one_core", run_here)
    documents = sample.CORPUS.read_text("utf-8").split("\n\n")
    (tmp_path / "corpus.txt").write_text("\n\n".join(documents[:61]))
    out = tmp_path / "out"
    words = ["sentence-task", "--text", str(tmp_path / "corpus.txt"), "--output", out]
    words += ["--tokenizer", vocabulary, "--arms", "none", "sop", "--budget", 0.001]
    words += ["--sequence-length", 19, "--seeds", 2, "--workers", 1]
    words += [f"--pretrain-option={word}" for word in SMALL]
    words = [*map(str, words)]
    arguments = ablate.parse(words)
    out.mkdir()
    results = ablate.read_results(arguments)
    curve = {"steps": [3, 7], "values": [2.75, 2.25]}
    for arm, losses in {"none": (2.0, 2.25), "sop": (2.5,)}.items():
        for seed, loss in enumerate(losses):
            figures = {"mlm_loss": loss, "probe_nsp": 0.5, "probe_sop": 0.625}
            results["runs"][arm][str(seed)] = figures
            results["curves"][arm][str(seed)] = curve
    write_json(out / "ablation.json", results)
    ablate.main(words)
    results = read_json(out / "ablation.json")
    (num_steps,) = set(results["steps"].values())
    assert f"--num-steps {num_steps}" in results["commands"]["sop"]
    trained = results["runs"]["sop"]["1"]
    assert trained.keys() == ablate.MEASURES.keys()
    assert results["curves"]["sop"]["1"]["steps"][-1] == num_steps
    # It hardly trained, so that the arm is not compared.
    assert [*results["compared"]] == ["none"]
    table = (out / "table.md").read_text()
    assert "| sop | in order, or swapped |" in table
    assert "sop is not compared: with seed 1 it stayed at the loss" in table
    assert (out / "ablation.png").stat().st_size > 0
    # What is finished is not repeated.
    monkeypatch.delattr(ablate, "run_on_one_core")
    monkeypatch.setattr(ablate, "prepare", lambda *_: None)
    ablate.main(words)
    assert read_json(out / "ablation.json") == results
    with pytest.raises(SystemExit, match="resumed with the options that it began with"):
        ablate.main(["dropout", *words[1 : words.index("--arms")]])


def test_table_and_picture_have_the_papers_numbers():
    pytest.importorskip("matplotlib")
    ablation = ablate.ABLATIONS["sentence-task"]
    losses = {"none": (5.0, 5.25), "sop": (5.125, 5.5), "nsp": (5.875, 5.0)}
    curve = {"steps": [7, 14, 21], "values": [5.75, 5.5, 5.25]}
    results = {
        "unigram_loss": 5.9,
        "steps": dict.fromkeys(losses, 1021),
        "start": {"probe_sop": 0.625},
        "runs": {
            arm: {
                str(seed): {"mlm_loss": loss, "probe_sop": 0.5 + 0.125 * seed}
                for seed, loss in enumerate(of_arm)
            }
            for arm, of_arm in losses.items()
        },
        "curves": {arm: {"0": curve, "1": curve} for arm in losses},
    }
    results |= ablate.compare(ablation, results)
    (ordering,) = results["orderings"]
    assert (ordering["better"], ordering["verdict"]) == ("sop", "cannot be told")
    table = ablate.as_table(ablation, results)
    row = table.splitlines()[3].split(" | ")
    assert row[2:6] == ["1,021", "2", "5.312", "+0.188 ± 0.062"]
    assert row[6:] == ["56.2 %", "+0.0 ± 0.0", "86.5 %", "80.1 |"]
    assert "nsp is not compared" in table
    assert "of the checkpoint: probe_sop 62.5%." in table
    figure = ablate.plot(ablation, results)
    check_layout(figure)
    assert {"sop", "nats from none; less is better"} <= texts_of(figure)
    assert "points from none; more is better" in texts_of(figure)
    diamond = figure.axes[1].lines[-1]
    assert list(diamond.get_xdata()) == [pytest.approx(33.2)]
