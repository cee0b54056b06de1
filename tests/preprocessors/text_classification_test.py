"""Raw text to model inputs: as keras-hub, in Python, in tf.data and after loading."""

import keras_hub
import numpy as np
import pytest
import tensorflow as tf

import albert_keras as ak
from albert_keras import sample
from albert_keras.preprocessors import AlbertTextClassifierPreprocessor
from albert_keras.tokenizers import WordPieceTokenizer

LETTERS = "abcdefghijklmnopqrstuvwxyz.,'-"
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS]
PIECES += [f"##{letter}" for letter in LETTERS]


@pytest.fixture(scope="module")
def tokenizer():
    return WordPieceTokenizer(PIECES)


def draw_texts(seed, number=29):
    """Returns texts of 0 to 12 words, some of them empty."""
    words = sample.CORPUS.read_text("utf-8").split()
    random = np.random.default_rng(seed)
    sizes = random.integers(-3, 13, number).clip(0)
    return [" ".join(random.choice(words, size)) for size in sizes]


def assert_equal(received, expected):
    assert received.keys() == expected.keys()
    for name in expected:
        np.testing.assert_array_equal(received[name], expected[name], name)


@pytest.mark.parametrize(
    ("num_segments", "sequence_length"), [(1, 9), (2, 4), (2, 133), (3, 17)]
)
def test_equal_to_keras_hub(tokenizer, num_segments, sequence_length):
    x = tuple(draw_texts(seed) for seed in range(num_segments))
    x = x if num_segments > 1 else x[0]
    options = {"tokenizer": tokenizer, "sequence_length": sequence_length}
    preprocessor = AlbertTextClassifierPreprocessor(**options)
    hub = keras_hub.models.TextClassifierPreprocessor(**options)
    labels = np.arange(29)
    expected, _ = hub(x, labels)
    received, received_labels = preprocessor(x, labels)
    assert_equal(received, expected)
    assert np.array_equal(received_labels, labels)
    rows = tf.data.Dataset.from_tensor_slices((x, labels))
    batch, _ = next(iter(rows.batch(29).map(preprocessor)))
    assert_equal(batch, expected)
    one, _ = next(iter(rows.map(preprocessor)))
    assert_equal(one, {name: array[0] for name, array in expected.items()})


def test_embedders_pack_as_classifiers():
    shipped = ak.load_tokenizer("albert_nano_en")
    preprocessor = ak.AlbertTextEmbedderPreprocessor(shipped, sequence_length=11)
    texts = ["a charming film", "", "word " * 40]
    packed = preprocessor(texts)
    assert np.sum(packed["padding_mask"], axis=1).tolist() == [6, 2, 11]
    assert_equal(packed, AlbertTextClassifierPreprocessor(shipped, 11)(texts))
    # One text without a batch.
    one = {name: array[0] for name, array in packed.items()}
    assert_equal(preprocessor(texts[0]), one)
