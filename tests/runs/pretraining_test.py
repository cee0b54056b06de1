"""Pretraining runs on text and on prepared data of all kinds, and resuming them."""

import contextlib
import dataclasses
import functools
import io
import json
import shutil

import numpy as np
import pytest

from albert_keras.cli import main
from albert_keras.converters import change_architecture, load_checkpoint
from albert_keras.pretraining import read_description
from albert_keras.runs import PretrainingRun, PretrainingRunConfig
from tests.helpers import max_difference

LENGTH = 61


def results_of(*words):
    """Runs a command; what it prints is not taken for the results of the next one."""
    with contextlib.redirect_stdout(io.StringIO()) as output:
        assert main([*map(str, words), "--json"]) == 0
    return json.loads(output.getvalue())


@pytest.fixture(scope="module")
def prepare(prepare):
    return functools.partial(prepare, LENGTH)


def pretrain(vocabulary, run, *source):
    """Returns the words of a command that trains two steps."""
    words = ["pretrain", *source, "--tokenizer", vocabulary, "--run", run]
    words += ["--preset", "albert_test", "--max-sequence-length", LENGTH]
    return [*words, "--num-steps", 2, "--batch-size", 7, "--workers", 1]


@pytest.fixture(scope="module")
def trained(prepare, vocabulary, tmp_path_factory):
    """A run of two steps and its data, neither to be changed."""
    config = PretrainingRunConfig(
        run=str(tmp_path_factory.mktemp("trained") / "run"),
        data=str(prepare("--seed", 13)),
        tokenizer=str(vocabulary),
        preset="albert_test",
        model_options={"max_sequence_length": LENGTH},
        num_steps=2,
        batch_size=7,
        optimizer="adamw",
        learning_rate=1e-3,
        workers=1,
    )
    PretrainingRun(config).fit()
    return config


def losses(run):
    rows = map(json.loads, (run / "log.jsonl").read_text("utf-8").splitlines())
    return [row["loss"] for row in rows if "loss" in row]


# === From text ===


@pytest.fixture(scope="module")
def of_text(text, prepare, vocabulary, tmp_path_factory):
    """A run on text, its command and its results; not to be changed."""
    run = tmp_path_factory.mktemp("of_text") / "run"
    shutil.copy(text, run.parent / "corpus.txt")
    source = ["--text", run.parent / "corpus.txt", "--sequence-length", LENGTH]
    held_out = ["--validation-data", prepare("--seed", 13)]
    words = pretrain(vocabulary, run, *source, "--seed", 3, *held_out)
    return run, words, results_of(*words)


def times_of(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


@pytest.mark.slow
def test_token_ids_of_text_are_stored_in_the_run(of_text, prepare, call, fail):
    run, _, results = of_text
    description = read_description(run / "tokens")
    prepared = description["config"]
    assert (prepared["sequence_length"], prepared["seed"]) == (LENGTH, 3)
    scores = json.loads((run / "report.json").read_text())["scores"]
    assert scores == {name: results[name] for name in results.keys() & scores.keys()}
    assert scores.keys() >= {"mlm_loss", "sop_accuracy"}
    assert (run / "learning_curve.png").stat().st_size > 1000
    evaluation = call("evaluate", run, "--data", prepare("--seed", 13))
    assert evaluation == {
        name: pytest.approx(value, rel=1e-4)
        for name, value in results.items()
        if name not in ("run", "parameters")
    }
    evaluation = call("evaluate", run, "--data", run / "tokens")
    # The report counted a pass of other random numbers.
    counted = description["report"]["num_examples"]
    assert "'a.txt', a text" in fail("evaluate", run, "--data", "a.txt")
    assert evaluation["num_examples"] == pytest.approx(counted, rel=0.05)
    assert 0 < evaluation["sop_accuracy"] < 1


@pytest.mark.slow
def test_a_finished_run_makes_neither_data_nor_steps_again(of_text, call):
    run, words, results = of_text
    written = times_of(run / "tokens") | times_of(run / "checkpoints")
    assert call(*words) == results
    assert times_of(run / "tokens") | times_of(run / "checkpoints") == written
    # A dry run uses them.
    written = times_of(run)
    assert call(*words, "--num-steps", 20, "--dry-run")["num_steps"] == 18
    assert times_of(run) == written


@pytest.mark.slow
def test_of_a_run_on_damaged_data_nothing_stays(prepare, vocabulary, tmp_path, fail):
    records = prepare("--seed", 13, "--format", "tfrecord", "--dupe-factor", 1)
    data = shutil.copytree(records, tmp_path / "data")
    (shard,) = data.glob("*-of-*")
    content = shard.read_bytes()
    shard.write_bytes(content[:9] + b"damage" + content[15:])
    line = fail(*pretrain(vocabulary, tmp_path / "run", "--data", data))
    assert "A TFRecord file must be complete, with examples of one size." in line
    assert "Graph" not in line
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_run_is_resumed_with_the_same_data_only(trained, prepare, tmp_path):
    moved = shutil.copytree(trained.data, tmp_path / "moved")
    PretrainingRun(dataclasses.replace(trained, data=str(moved))).prepare()
    other = dataclasses.replace(trained, data=str(prepare("--seed", 14)))
    with pytest.raises(ValueError, match="00000-of-.*.tokens', which has changed"):
        PretrainingRun(other).fit()


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ("--validation-split 0.1", "Received: validation_split=0.1."),
        ("--errors replace --runner DirectRunner", "errors='replace', runner='Direct"),
        ("--tokenizer albert_nano_en --cased", "made with the given tokenizer. Rec"),
    ],
)
def test_options_without_effect_are_refused(
    prepare, vocabulary, tmp_path, fail, options, part
):
    words = pretrain(vocabulary, tmp_path / "run", "--data", prepare("--seed", 13))
    assert part in fail(*words, *options.split())


@pytest.mark.slow
@pytest.mark.parametrize("pairs", ["nsp", "none"])
def test_a_run_starts_from_the_weights_of_a_checkpoint(
    text, trained, tmp_path, call, fail, pairs
):
    words = ["pretrain", "--text", text, "--sequence-length", 31, "--workers", 1]
    # The tokenizer is the checkpoint's.
    words += ["--sentence-pairs", pairs, "--checkpoint", trained.run]
    words += ["--run", tmp_path / "second", "--validation-split", 0.3]
    words += ["--batch-size", 5, "--num-steps", 1, "--learning-rate", 1e-9]
    assert "hidden_dim" in fail(*words, "--hidden-dim", 16)
    scores = call(*words, "--dropout", 0.25, "--max-sequence-length", LENGTH + 6)
    # Measured before the first step, which changes nothing here.
    assert scores["start"]["mlm_loss"] == pytest.approx(scores["mlm_loss"], abs=1e-4)
    after = load_checkpoint(tmp_path / "second" / "model")
    assert after.backbone.albert_config.dropout == 0.25
    after = change_architecture(after, max_sequence_length=LENGTH)
    assert after.num_pair_classes == (0 if pairs == "none" else 2)
    before = load_checkpoint(trained.run).get_weights()[: len(after.weights)]
    assert max_difference(before, after.get_weights()) < 1e-6
    if pairs == "none":
        second = tmp_path / "second"
        evaluation = call("evaluate", second, "--data", second / "tokens")
        assert "sop_accuracy" not in evaluation


# === From prepared data ===


# Padded rows of both kinds are those of a text.
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["records", "tokens"])
def test_filled_rows_of_all_kinds(prepare, vocabulary, tmp_path, call, kind):
    records = ["--format", "tfrecord", "--dupe-factor", 1] * (kind == "records")
    filled = prepare("--packing", "filled", *records)
    source = ["--data", filled]
    if kind == "tokens":
        # A store that was prepared for one pair a row.
        source = ["--data", prepare(), "--packing", "filled"]
    run = tmp_path / "run"
    results = call(*pretrain(vocabulary, run, *source), "--validation-data", filled)
    assert np.isfinite(losses(run)).all()
    assert len(losses(run)) == 2
    report = read_description(filled)["report"]
    # Of a filled row each pair counts.
    assert report["num_pairs"] > report["num_examples"]
    for name, counted in (
        ("num_predictions", report["num_predictions"]),
        ("num_examples", report["num_pairs"]),
    ):
        tolerance = 0.05 * counted if kind == "tokens" else 0
        assert results[name] == pytest.approx(counted, abs=tolerance)
    if kind == "tokens":
        evaluation = call("evaluate", run, "--data", prepare())
        assert "sop_accuracy" in evaluation
