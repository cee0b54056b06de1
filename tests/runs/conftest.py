"""Fixtures of runs: commands in this process, and small runs for all of them."""

import pytest

from albert_keras import cli, sample
from albert_keras.runs import PretrainingRun, PretrainingRunConfig
from tests.cli.conftest import call, fail, vocabulary

__all__ = ["call", "fail", "vocabulary"]

# Most tokens of a row in `base_config`.
LENGTH = 29


@pytest.fixture(scope="module")
def prepare(vocabulary, tmp_path_factory):
    """Prepares the sample's first documents, for rows of a length."""
    text = tmp_path_factory.mktemp("text") / "corpus.txt"
    documents = sample.CORPUS.read_text("utf-8").split("\n\n")
    text.write_text("\n\n".join(documents[:37]))

    def run(sequence_length, *options):
        folder = tmp_path_factory.mktemp("data")
        words = ["prepare-data", text, "--tokenizer", vocabulary]
        words += ["--sequence-length", sequence_length, "--output", folder, *options]
        words += ["--dupe-factor", 1, "--num-shards", 1, "--workers", 1]
        assert cli.main(list(map(str, words))) == 0
        return folder

    return run


@pytest.fixture(scope="session")
def base_config(tmp_path_factory, vocabulary):
    """The options of tests/fixtures/runs/pretraining_version_1.json."""
    folder = tmp_path_factory.mktemp("base")
    documents = sample.CORPUS.read_text("utf-8").split("\n\n")
    (folder / "corpus.txt").write_text("\n\n".join(documents[:37]))
    return PretrainingRunConfig(
        run=folder / "base",
        text=(str(folder / "corpus.txt"),),
        tokenizer=str(vocabulary),
        num_steps=2,
        batch_size=3,
        preset="albert_test",
        model_options={
            "num_layers": 1,
            "num_heads": 2,
            "embedding_dim": 11,
            "hidden_dim": 24,
            "max_sequence_length": LENGTH,
        },
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
