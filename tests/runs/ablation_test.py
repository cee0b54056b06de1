"""Ablations: runs side by side, compared, resumed, and refused."""

import json
import subprocess

import pytest

from albert_keras import cli, sample
from albert_keras.files import read_json, write_json
from albert_keras.runs import AblationConfig, AblationRun, ablation
from albert_keras.runs.ablation_arms import ABLATIONS

SMALL = ("--preset=albert_test", "--num-layers=1")


def losses(**of_arms):
    """Returns runs with the losses of seeds 0, 1 and so on."""
    return {
        arm: {str(seed): {"mlm_loss": loss} for seed, loss in enumerate(values)}
        for arm, values in of_arms.items()
    }


@pytest.fixture
def make(tmp_path, vocabulary, capfd):
    """Returns an `AblationRun` of a small model, its commands in this process."""
    documents = sample.CORPUS.read_text("utf-8").split("\n\n")
    (tmp_path / "corpus.txt").write_text("\n\n".join(documents[:61]))

    def run_here(words, stdout=None, stderr=None):
        capfd.readouterr()
        assert cli.main(words) == 0
        return subprocess.CompletedProcess(words, 0, capfd.readouterr().out)

    def build(name, **options):
        config = AblationConfig(
            name=name,
            text=(str(tmp_path / "corpus.txt"),),
            output=str(tmp_path / "out"),
            tokenizer=str(vocabulary),
            **{"seeds": 2, "workers": 1, "pretrain_option": SMALL, **options},
        )
        return AblationRun(config, run_here)

    return build


@pytest.mark.slow
def test_missing_runs_are_trained_and_measured(make, tmp_path):
    run = make("sentence-task", arms=("none", "sop"), budget=0.001, sequence_length=19)
    probes = {"probe_nsp": 0.5, "probe_sop": 0.625}
    runs = losses(none=(2.0, 2.25), sop=(2.5,))
    for found in (*runs["none"].values(), *runs["sop"].values()):
        found |= probes
    config = run.config.to_dict()
    own = {name: config[name] for name in config if name not in ablation._CHANGEABLE}
    (tmp_path / "out").mkdir()
    write_json(tmp_path / "out" / "ablation.json", {"config": own, "runs": runs})
    results = run.run()
    assert results == read_json(tmp_path / "out" / "ablation.json")
    assert results["core_seconds_per_step"].keys() == {"none", "sop"}
    # Equal, with a command that can be repeated.
    (num_steps,) = set(results["steps"].values())
    assert f"--num-steps {num_steps}" in results["commands"]["sop"]
    trained = results["runs"]["sop"]["1"]
    names = ("mlm_loss", "mlm_accuracy", "mlm_loss_pairs", "probe_nsp", "probe_sop")
    assert tuple(trained) == names
    assert results["curves"]["sop"]["1"]["steps"][-1] == num_steps
    # It hardly trained, so that the arm is not compared.
    assert results["not_left"] == {"sop": {"1": trained["mlm_loss"]}}
    assert [*results["compared"]] == ["none"]
    said = " ".join(results["notes"])
    assert "sop is not compared: with seed 1 it stayed at the loss" in said
    assert "All arms, none too, are scored on sentence pairs by a logistic" in said
    assert "| sop | in order, or swapped |" in (tmp_path / "out/table.md").read_text()
    # What is finished is not repeated.
    run.run_command = lambda words, **streams: None
    assert run.run() == results


def test_other_options_are_refused(make, tmp_path):
    run = make("dropout")
    (tmp_path / "out").mkdir()
    write_json(tmp_path / "out" / "ablation.json", {"config": {"name": "depth"}})
    with pytest.raises(ValueError, match="other name, text.*take another folder"):
        run.run()


def compare(name, runs, unigram_loss=6.0):
    config = AblationConfig(name=name, text=("a",), output="b")
    state = {"runs": runs, "unigram_loss": unigram_loss}
    return ablation.compare(config, ABLATIONS[name], state)


def test_orderings_are_those_of_the_paper():
    runs = {"0": (5.0, 5.25, 5.5), "0.1": (5.25, 5.5, 5.8)}
    results = compare("dropout", losses(**runs))
    (ordering,) = results["orderings"]
    assert (ordering["better"], ordering["worse"]) == ("0", "0.1")
    assert ordering["verdict"] == "holds"
    assert results["compared"]["0.1"]["mlm_loss"]["difference"] > 0.25
    assert results["notes"] == []
    assert results["measures"] == {"mlm_loss": "nats of a masked token"}


def test_probes_of_the_checkpoint_are_said():
    config = AblationConfig(name="sentence-task", text=("a",), output="b")
    state = {"runs": {}, "unigram_loss": 6.0, "start": {"probe_sop": 0.625}}
    notes = ablation.compare(config, ABLATIONS["sentence-task"], state)["notes"]
    assert notes[-1] == "Before the first step, of the checkpoint: probe_sop 62.5 %."


def test_without_a_base_nothing_is_compared():
    results = compare("dropout", losses(**{"0": (5.0, 5.95), "0.1": (5.0, 5.0)}))
    assert results["compared"] == {}
    assert results["not_left"] == {"0": {"1": 5.95}}
    assert "0, the base, never left" in results["notes"][-1]


def test_the_picture_is_written_where_matplotlib_is(make, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    run = make("dropout")
    (tmp_path / "out").mkdir()
    curve = {"steps": [5], "values": [5.5]}
    state = {
        "config": {},
        "runs": losses(**{"0": (5.0, 5.25), "0.1": (5.5, 5.5)}),
        "curves": {arm: {"0": curve, "1": curve} for arm in ("0", "0.1")},
        "steps": {"0": 5, "0.1": 5},
        "core_seconds_per_step": {"0": 1.0, "0.1": 1.0},
        "unigram_loss": 6.0,
    }
    results = run._write(state)
    assert (tmp_path / "out" / "ablation.png").stat().st_size > 0
    assert json.loads((tmp_path / "out" / "ablation.json").read_text()) == results
