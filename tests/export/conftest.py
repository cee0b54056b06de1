"""Small models and a tokenizer for the export tests."""

import keras
import pytest

from albert_keras import sample
from albert_keras.models import AlbertBackbone, AlbertTextClassifier
from albert_keras.tokenizers import AlbertTokenizer, train_sentence_piece

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
        "albert_test",
        vocabulary_size=VOCABULARY_SIZE,
        num_layers=1,
        initializer_range=0.2,
    )


@pytest.fixture(scope="session")
def classifier(backbone):
    return AlbertTextClassifier(backbone, num_classes=3)


@pytest.fixture(scope="session")
def large_classifier():
    """3 million parameters in few operations: the graph is small beside them."""
    backbone = AlbertBackbone.from_config_preset(
        "albert_test",
        vocabulary_size=31_001,
        num_layers=1,
        embedding_dim=80,
        hidden_dim=168,
        intermediate_dim=672,
    )
    return AlbertTextClassifier(backbone, num_classes=3)


@pytest.fixture(scope="session")
def texts():
    return TEXTS
