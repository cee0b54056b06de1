"""Fixtures of runs: commands in this process, and small runs for all of them."""

import contextlib
import dataclasses
import functools
import io

import pytest

from albert_keras import cli
from albert_keras.runs import (
    FinetuningRunConfig,
    PretrainingRun,
    PretrainingRunConfig,
    RunFolder,
)
from albert_keras.runs.finetuning import load_backbone
from albert_keras.runs.finetuning_task import configure_task
from albert_keras.tokenizers import load_tokenizer
from tests.cli.conftest import call, fail, vocabulary, write_sample

__all__ = ["call", "fail", "vocabulary"]

# Most tokens of a row in `base_config`.
LENGTH = 29


def newest_step(run):
    """Returns the step of a run's newest checkpoint, or 0."""
    files = (run / "checkpoints").glob("step-*.npz")
    return max((int(file.stem[-8:]) for file in files), default=0)


@pytest.fixture(scope="session")
def text(tmp_path_factory):
    """A file of the sample's first 151 documents."""
    return write_sample(tmp_path_factory.mktemp("text") / "corpus.txt", 151)


@pytest.fixture(scope="module")
def prepare(text, vocabulary, tmp_path_factory):
    """Prepares the text for rows of a length, with the same options once."""

    @functools.cache
    def run(sequence_length, *options):
        folder = tmp_path_factory.mktemp("data")
        words = ["prepare-data", text, "--tokenizer", vocabulary]
        words += ["--sequence-length", sequence_length, "--output", folder, *options]
        words += ["--num-shards", 1, "--workers", 1]
        with contextlib.redirect_stdout(io.StringIO()):
            assert cli.main(list(map(str, words))) == 0
        return folder

    return run


@pytest.fixture(scope="session")
def base_config(tmp_path_factory, vocabulary):
    """Options of a pretraining run of two steps on text."""
    folder = tmp_path_factory.mktemp("base")
    write_sample(folder / "corpus.txt", 37)
    return PretrainingRunConfig(
        run=folder / "base",
        text=(str(folder / "corpus.txt"),),
        tokenizer=str(vocabulary),
        num_steps=2,
        batch_size=3,
        preset="albert_test",
        model_options={"num_layers": 1, "max_sequence_length": LENGTH},
        data_options={"sequence_length": LENGTH, "favor_shorter": False},
        workers=1,
    )


@pytest.fixture(scope="session")
def base(base_config):
    """The folder of a pretraining run of two steps, not to be changed."""
    PretrainingRun(base_config).fit()
    return base_config.run


@pytest.fixture(scope="session")
def rows(tmp_path_factory):
    """A table of 40 rows with two labels that have nothing to do with the texts."""
    lines = [f"text {i}\t{'ab'[i * 7 % 5 % 2]}\n" for i in range(40)]
    path = tmp_path_factory.mktemp("rows") / "rows.tsv"
    path.write_text("text\tlabel\n" + "".join(lines))
    return path


@pytest.fixture
def finish(tmp_path):
    """Writes a finished run that was not trained; returns its folder and its model."""

    def write(task, precision="float32", facts=None, **options):
        folder = tmp_path / "run"
        config = FinetuningRunConfig(
            run=folder,
            task=task,
            checkpoint="albert_nano_en",
            precision=precision,
            sequence_length=17,
            task_options=options,
        )
        (tmp_path / "tagged.txt").write_text("Ann B-PER\nsang O\n\nThe O\nboat O\n")
        task, tokenizer = configure_task(config), load_tokenizer(config.checkpoint)
        rows = task.read(tmp_path / "tagged.txt") if config.task == "tagging" else None
        task = task.for_run(rows, tokenizer, **facts or {})
        model = task.servable(task.build_model(load_backbone(config, None)))
        RunFolder(folder).write(
            config, **task.run_facts(), recipe=dataclasses.asdict(task.recipe)
        )
        model.save_to_preset(str(folder / "model"))
        tokenizer.save_to_preset(str(folder / "model"))
        return folder, model

    return write
