"""The tool that compares changes of a pretraining recipe."""

import json
import math

import pytest

from albert_keras import cli, sample
from albert_keras.system.files import write_json
from tools.experiments import compare_recipes, harness

LENGTH = 128
MINUTES = 0.0001


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """Prepares a text of 23 documents as a token store, and as records."""
    folder = tmp_path_factory.mktemp("prepared")
    documents = sample.CORPUS.read_text("utf-8").split("\n\n")[:23]
    (folder / "corpus.txt").write_text("\n\n".join(documents))
    records = ["--format", "tfrecord", "--dupe-factor", 1]
    for name, options in (("tokens", []), ("held", records)):
        words = ["prepare-data", folder / "corpus.txt", "--tokenizer", "albert_nano_en"]
        words += ["--output", folder / name, "--workers", 1, "--num-shards", 1]
        words += ["--sequence-length", LENGTH, "--validation-split", 0, *options]
        assert cli.main(list(map(str, words))) == 0
    return folder


@pytest.fixture
def compare(prepared, tmp_path, monkeypatch, capfd):
    """Runs the tool with arms on a small model, its commands in this process."""

    def run_here(words, log=None):
        capfd.readouterr()
        assert cli.main([*map(str, words)]) == 0
        return capfd.readouterr().out

    def run(known, *arms):
        words = ["--data", prepared / "tokens", "--validation-data", prepared / "held"]
        words += ["--tokenizer", "albert_nano_en", "--output", tmp_path, "--seeds", 2]
        words += ["--minutes", MINUTES, "--workers", 1, "--arms", *arms]
        words += ["--", "--preset", "albert_test", "--max-sequence-length", LENGTH]
        words += ["--num-layers", 3, "--sentence-pairs", "ternary"]
        words = [*map(str, words)]
        options = vars(compare_recipes.parse(words))
        changeable = compare_recipes.CHANGEABLE
        config = {k: v for k, v in options.items() if k not in changeable}
        write_json(tmp_path / "results.json", {"config": config, "runs": known})
        compare_recipes.main(words)
        return json.loads((tmp_path / "results.json").read_text())

    monkeypatch.setattr(harness, "run_on_one_core", run_here)
    return run


@pytest.mark.slow
def test_arms_are_measured_and_compared(compare, tmp_path):
    # Runs that an earlier call measured are not repeated.
    ordered = {"sop_accuracy": 0.625}
    runs = {
        "base": {"0": {"mlm_loss": 5.0, **ordered}, "1": {"mlm_loss": 5.5, **ordered}},
        "no pairs": {"0": {"mlm_loss": 4.75}, "1": {"mlm_loss": 5.5}},
        "not grown": {"0": {"mlm_loss": 5.25, "sop_accuracy": 0.5}},
    }
    results = compare(runs, "base", "no pairs", "not grown")
    no_pairs = results["compared"]["no pairs"]
    assert no_pairs["mlm_loss"]["difference"] == -0.125
    # Of the differences -0.25 and 0.
    assert no_pairs["mlm_loss"]["standard_error"] == pytest.approx(0.125)
    assert "sop_accuracy" not in no_pairs
    trained = results["compared"]["not grown"]
    assert trained["seeds"] == 2
    assert 2 * trained["mlm_loss"]["mean"] - 5.25 == pytest.approx(
        math.log(8000), rel=0.2
    )
    table = (tmp_path / "table.md").read_text()
    assert (
        "| no pairs | masked words alone | 2 | 5.125 | -0.125 ± 0.125 | - | - |"
        in table
    )
    assert (tmp_path / "comparison.png").stat().st_size > 10_000
