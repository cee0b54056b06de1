"""Commands as a user calls them, and a vocabulary for all of them."""

import json

import pytest

from albert_keras import sample
from albert_keras.cli import main
from tests.forked_processes import forked_processes, run_command
from tests.processes import foreign_lines

VOCABULARY_SIZE = 500


def write_sample(path, num_documents):
    """Writes the first documents of the sample to a file; returns its path."""
    documents = sample.CORPUS.read_text("utf-8").split("\n\n")
    path.write_text("\n\n".join(documents[:num_documents]))
    return path


def content(folder):
    """Returns the bytes of each file in a folder."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.fixture
def call(capsys):
    """Runs a command that must succeed; returns its JSON."""

    def run(*words):
        assert main([*map(str, words), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return run


@pytest.fixture
def fail(capsys):
    """Runs a command that must fail; returns its one line of error."""

    def run(*words):
        assert main([*map(str, words)]) == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert "Traceback" not in err
        (line,) = [line for line in err.splitlines() if line.startswith("albert-keras")]
        return line

    return run


@pytest.fixture(scope="session")
def run_apart():
    """Runs a command in a process of its own; returns its standard output.

    It must succeed, and its standard error has no lines of other libraries.
    """

    def run(*words, **options):
        with forked_processes() as start:
            process = start(run_command, *words, **options)
            output, errors = process.communicate()
        assert process.returncode == 0, errors
        assert foreign_lines(errors) == []
        return output

    return run


@pytest.fixture(scope="session")
def vocabulary(tmp_path_factory):
    """A SentencePiece model of `VOCABULARY_SIZE` pieces, trained on the sample."""
    path = tmp_path_factory.mktemp("vocabulary") / "sample.model"
    words = ["train-vocabulary", sample.CORPUS, "--vocabulary-size", VOCABULARY_SIZE]
    assert main([str(word) for word in [*words, "--output", path]]) == 0
    return path
