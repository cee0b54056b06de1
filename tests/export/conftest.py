"""Small models, a tokenizer and fresh processes for the export tests."""

import contextlib
import os
import pathlib
import subprocess
import sys

import keras
import numpy as np
import pytest

from albert_keras import sample
from albert_keras.models import AlbertBackbone, AlbertTextClassifier
from albert_keras.tokenizers import AlbertTokenizer, train_sentence_piece
from tests.helpers import max_difference

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
VOCABULARY_SIZE = 211

CORPUS = sample.CORPUS
YEARS = ["in 1999 and 2012 the storms came", "in 2007 they went"]

# Each a trap: digit comma and accents, nothing, white space, more tokens than fit,
# characters outside the vocabulary, NUL and other controls.
TEXTS = [
    "The baker counts storms.",
    "In 2012, SHE moved the lighthouse; in 1999, the Café",
    "",
    "  boats\tand   gulls\n",
    "storms " * 40,
    "ÀÉ ﬁ Ⅷ 中文 unknown Ω",
    "a door in 2007,",
    "\0storms\0 and gulls\0\0boats \0",
    "\ufeffstorms\u2028and \x01gulls\x7f",
]


def assert_serves(model, features, outputs, bound=1e-5):
    """Asserts that outputs, with what exports add, are those of a Keras model."""
    expected = model(features)
    if not isinstance(expected, dict):
        expected = {model.export_spec().output_name: expected}
    assert {*outputs} - {"probabilities", "score", "exit_depth"} == expected.keys()
    for name, value in expected.items():
        assert max_difference(outputs[name], value) <= bound, (type(model), name)


@pytest.fixture(autouse=True)
def same_weights():
    """The same random weights in every run: ties of rounding would change answers."""
    keras.utils.set_random_seed(3)


@pytest.fixture(scope="session")
def tokenizer():
    """An `AlbertTokenizer` with pieces that fall under the digit-comma rule."""
    proto = train_sentence_piece(
        [CORPUS, *YEARS * 9], 197, user_defined_pieces=("2012,", "9,")
    )
    return AlbertTokenizer(proto)


@pytest.fixture(scope="session")
def backbone():
    """A backbone whose weights are wide enough to tell texts apart."""
    keras.utils.set_random_seed(5)
    return AlbertBackbone.from_config_preset(
        "albert_test", vocabulary_size=VOCABULARY_SIZE, initializer_range=0.2
    )


@pytest.fixture(scope="session")
def classifier(backbone):
    return AlbertTextClassifier(backbone, num_classes=3)


@pytest.fixture(scope="session")
def large_classifier():
    """5 million parameters in few operations: the graph is small beside them."""
    backbone = AlbertBackbone.from_config_preset(
        "albert_test",
        vocabulary_size=61_001,
        num_layers=1,
        embedding_dim=80,
        hidden_dim=168,
        intermediate_dim=672,
    )
    return AlbertTextClassifier(backbone, num_classes=3)


@pytest.fixture(scope="session")
def texts():
    return TEXTS


@pytest.fixture(scope="session")
def random_features():
    """Function that makes inputs of any model of ours, rows of different lengths."""

    def make(model, batch, sequence_length):
        rng = np.random.default_rng(batch)
        shape = (batch, sequence_length)
        lengths = rng.integers(3, sequence_length + 1, size=(batch, 1))
        features = {
            "token_ids": rng.integers(0, VOCABULARY_SIZE, shape),
            "segment_ids": rng.integers(0, 2, shape),
            "padding_mask": np.arange(sequence_length) < lengths,
            "mask_positions": rng.integers(0, 3, (batch, batch + 1)),
        }
        return {name: features[name].astype("int32") for name in model.input}

    return make


@pytest.fixture(scope="session")
def run_fresh():
    """Function that runs Python code in a new process and returns what it printed."""

    def run(script, *arguments, **environment):
        finished = subprocess.run(
            [sys.executable, "-c", script, *map(str, arguments)],
            cwd=REPOSITORY,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
        )
        if finished.returncode:
            pytest.fail(finished.stderr[-5000:])
        return finished.stdout

    return run


@pytest.fixture
def full_disk():
    """Context manager in which every write beyond 50 kB of a file fails."""
    resource = pytest.importorskip("resource")

    @contextlib.contextmanager
    def fail_writes():
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    return fail_writes
