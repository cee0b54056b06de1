"""Pretraining runs on text and on prepared data of all kinds, and resuming them."""

import contextlib
import dataclasses
import io
import json
import pathlib
import shutil

import numpy as np
import pytest

from albert_keras import sample
from albert_keras.cli import main
from albert_keras.converters import change_architecture, load_checkpoint
from albert_keras.files import claimed_folder
from albert_keras.pretraining import read_description
from albert_keras.runs import PretrainingRun, PretrainingRunConfig, RunFolder

LENGTH = 61


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """A file of the sample's first 151 documents."""
    path = tmp_path_factory.mktemp("text") / "corpus.txt"
    documents = sample.CORPUS.read_text("utf-8").split("\n\n")
    path.write_text("\n\n".join(documents[:151]))
    return path


@pytest.fixture(scope="module")
def prepare(text, vocabulary, tmp_path_factory):
    """Prepares data, that of the same options once."""
    folders = {}

    def run(*options):
        if options not in folders:
            folder = tmp_path_factory.mktemp("data")
            words = [
                "prepare-data",
                text,
                "--tokenizer",
                vocabulary,
                "--output",
                folder,
            ]
            sizes = ["--sequence-length", LENGTH, "--dupe-factor", 1, "--workers", 1]
            command = [*words, *sizes, "--num-shards", 2, *options]
            # What is printed here would be taken for the next command's results.
            with contextlib.redirect_stdout(io.StringIO()):
                assert main(list(map(str, command))) == 0
            folders[options] = folder
        return folders[options]

    return run


@pytest.fixture
def pretrain(vocabulary, tmp_path):
    """Returns the words of a command that trains two steps in `run`."""

    def words(*source, length=LENGTH, num_steps=2, run="run"):
        shape = ["--preset", "albert_test", "--max-sequence-length", length]
        steps = ["--num-steps", num_steps, "--batch-size", 7, "--workers", 1]
        files = ["--tokenizer", vocabulary, "--run", tmp_path / run]
        return ["pretrain", *source, *files, *shape, *steps]

    return words


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


def weights(run):
    return [np.array(weight) for weight in load_checkpoint(run / "model").weights]


# === From text ===


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "name", "kind"),
    [
        ([], "tokens", "tokens"),
        (["--static", "--dupe-factor", 1], "records", "records"),
    ],
    ids=["tokens", "records"],
)
def test_text_is_prepared_in_the_run(
    text, pretrain, prepare, tmp_path, call, options, name, kind
):
    words = pretrain("--text", text, "--sequence-length", LENGTH, "--seed", 3, *options)
    held_out = prepare("--seed", 13)
    results = call(*words, "--validation-data", held_out)
    run = tmp_path / "run"
    description = read_description(run / name)
    assert description["kind"] == kind
    assert description["config"]["sequence_length"] == LENGTH
    assert description["config"]["seed"] == 3
    assert not (run / name / "unfinished").exists()
    assert 4 < results["unigram_loss"] < results["mlm_loss"] + 2
    evaluation = call("evaluate", run, "--data", held_out)
    assert evaluation == {
        name: pytest.approx(value, rel=1e-4)
        for name, value in results.items()
        if name not in ("run", "parameters")
    }
    evaluation = call("evaluate", run, "--data", run / name)
    counted = description["report"]["num_examples"]
    if kind == "tokens":
        # The report counted a pass of other random numbers.
        counted = pytest.approx(counted, rel=0.05)
    assert evaluation["num_examples"] == counted
    assert 0 < evaluation["sop_accuracy"] < 1
    # The data is not made again, and the model neither.
    written = (run / name / "dataset.json").stat().st_mtime_ns
    assert call(*words, "--validation-data", held_out) == results
    assert (run / name / "dataset.json").stat().st_mtime_ns == written


def test_a_dry_run_uses_the_checkpoints_and_data_of_the_run(
    text, pretrain, tmp_path, call
):
    words = pretrain("--text", text, "--sequence-length", LENGTH)
    call(*words, "--num-steps", 3)
    written = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    results = call(*words, "--num-steps", 20, "--dry-run")
    assert results["num_steps"] == 17
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == written


def test_a_run_that_did_not_begin_may_start_with_other_options(
    prepare, pretrain, tmp_path, fail
):
    assert "Missing: '" in fail(*pretrain("--data", tmp_path / "absent"))
    RunFolder(tmp_path / "run").check_resumable("finetuning", None)


def test_a_run_is_resumed_with_the_same_options_only(trained):
    other = dataclasses.replace(trained, learning_rate=None, optimizer="lamb")
    with pytest.raises(ValueError, match=r"learning_rate=None \(was 0.001\)"):
        PretrainingRun(other).fit()
    fewer = dataclasses.replace(trained, num_steps=1)
    with pytest.raises(ValueError, match="num_steps=1 for .* which has 2 steps behind"):
        PretrainingRun(fewer).fit()


def test_a_run_in_which_another_process_works_is_left_alone(trained):
    run = pathlib.Path(trained.run)
    before = (run / "run.json").read_text()
    with claimed_folder(run):
        with pytest.raises(BlockingIOError, match="Only one process"):
            PretrainingRun(dataclasses.replace(trained, num_steps=3)).fit()
    assert (run / "run.json").read_text() == before


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--format", "jsonl"], "Received: format."),
        (["--errors", "replace", "--runner", "DirectRunner"], "errors, runner."),
        (
            ["--tokenizer", "albert_nano_en", "--cased"],
            "lowercase=False, where it is T",
        ),
    ],
)
def test_options_without_effect_are_refused(prepare, pretrain, fail, options, part):
    assert part in fail(*pretrain("--data", prepare("--seed", 13)), *options)


def test_records_that_do_not_say_their_vocabulary(prepare, trained, tmp_path, fail):
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    for path in prepare("--seed", 13).glob("*.tfrecord*"):
        shutil.copy(path, foreign)
    words = ["pretrain", "--data", foreign, "--checkpoint", trained.run]
    words += ["--tokenizer", "albert_nano_en", "--run", tmp_path / "other"]
    line = fail(*words, "--num-steps", 2)
    assert "a tokenizer of 8000 pieces, a model of 500" in line
    assert not (tmp_path / "other").exists()


def test_without_pairs(text, pretrain, tmp_path, call):
    options = ["--sequence-length", 19, "--sentence-pairs", "none", "--hidden-dim", 16]
    results = call(*pretrain("--text", text, *options, length=19))
    assert results["parameters"] > 500 * 9
    run = tmp_path / "run"
    evaluation = call("evaluate", run, "--data", run / "tokens")
    assert "sop_accuracy" not in evaluation


@pytest.mark.parametrize("pairs", ["nsp", "none"])
def test_a_run_starts_from_the_weights_of_a_checkpoint(
    text, trained, vocabulary, tmp_path, call, fail, pairs
):
    words = ["pretrain", "--text", text, "--sequence-length", 31, "--workers", 1]
    words += ["--sentence-pairs", pairs, "--checkpoint", trained.run]
    words += ["--tokenizer", vocabulary, "--run", tmp_path / "second"]
    words += ["--batch-size", 5, "--num-steps", 1, "--learning-rate", 1e-9]
    assert "hidden_dim" in fail(*words, "--hidden-dim", 16)
    call(*words, "--dropout", 0.25, "--max-sequence-length", LENGTH + 6)
    after = load_checkpoint(tmp_path / "second" / "model")
    assert after.backbone.albert_config.dropout == 0.25
    after = change_architecture(after, max_sequence_length=LENGTH)
    assert after.num_pair_classes == (0 if pairs == "none" else 2)
    before = weights(pathlib.Path(trained.run))[: len(after.weights)]
    for old, new in zip(before, after.weights, strict=True):
        np.testing.assert_allclose(new, old, atol=1e-6)


def test_text_that_does_not_fit_the_model_is_not_prepared(
    text, pretrain, tmp_path, fail
):
    words = pretrain("--text", text, "--sequence-length", LENGTH + 2)
    assert f"sequence_length=63, max_sequence_length={LENGTH}" in fail(*words)
    assert not (tmp_path / "run").exists()


# === From prepared data ===


# Padded rows of both kinds are those of a text.
@pytest.mark.parametrize("kind", ["records", "tokens"])
def test_filled_rows_of_all_kinds(prepare, pretrain, tmp_path, call, kind):
    data = prepare("--packing", "filled", *["--dynamic"] * (kind == "tokens"))
    results = call(*pretrain("--data", data), "--validation-data", data)
    assert np.isfinite(losses(tmp_path / "run")).all()
    assert len(losses(tmp_path / "run")) == 2
    report = read_description(data)["report"]
    # Of a filled row each pair counts.
    assert report["num_pairs"] > report["num_examples"]
    for name, counted in (
        ("num_predictions", report["num_predictions"]),
        ("num_examples", report["num_pairs"]),
    ):
        tolerance = 0.05 * counted if kind == "tokens" else 0
        assert results[name] == pytest.approx(counted, abs=tolerance)


def test_examples_of_a_store_may_differ_from_what_it_was_prepared_for(
    prepare, pretrain, tmp_path, call, fail
):
    data = prepare("--dynamic")
    line = fail(*pretrain("--data", data, length=23))
    assert f"sequence_length={LENGTH}, max_sequence_length=23" in line
    assert not (tmp_path / "run").exists()
    words = pretrain("--data", data, "--packing", "filled", run="filled")
    call(*words)
    # The data for measuring it was prepared for one pair a row.
    assert "sop_accuracy" in call("evaluate", tmp_path / "filled", "--data", data)


def test_examples_of_a_store_follow_the_options(prepare, trained, tmp_path):
    batches = {}
    for masking in ("token", "ngram"):
        config = dataclasses.replace(
            trained,
            run=str(tmp_path / masking),
            data=str(prepare("--dynamic")),
            data_options={"sequence_length": 23, "masking": masking},
        )
        run = PretrainingRun(config)
        run.prepare()
        batches[masking], *_ = next(iter(run.training_dataset(0)))
        assert batches[masking]["token_ids"].shape == (7, 23)
    first, second = (np.asarray(batch["mask_positions"]) for batch in batches.values())
    assert not np.array_equal(first, second)


def test_options_that_come_too_late_leave_no_folder(prepare, pretrain, tmp_path, fail):
    data = prepare("--seed", 13)
    line = fail(*pretrain("--data", data, "--favor-longer", "--static"))
    assert "go with `text`. Received: favor_shorter, static with data=" in line
    assert not (tmp_path / "run").exists()


# === Resuming ===


def test_a_run_is_not_resumed_with_other_text(text, pretrain, tmp_path, call, fail):
    copy = tmp_path / "copy.txt"
    shutil.copy(text, copy)
    source = ["--text", copy, "--sequence-length", LENGTH]
    call(*pretrain(*source))
    before = (tmp_path / "run" / "run.json").read_text()
    line = fail(*pretrain("--text", text, "--sequence-length", LENGTH))
    assert "text=['" in line
    copy.write_text("Another\ntext.\n")
    line = fail(*pretrain(*source))
    assert "input_fingerprint was" in line
    assert (tmp_path / "run" / "run.json").read_text() == before
