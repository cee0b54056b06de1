"""Places of tokens in the graph against `tokenize_with_offsets`."""

import numpy as np
import pytest
import tensorflow as tf

from albert_keras.tokenizers import AlbertTokenizer, WordPieceTokenizer
from tests.tokenizers.conftest import FRAGMENTS
from tests.tokenizers.vocabularies import CHINESE, ENGLISH

OPTIONS = [
    {"huggingface_quotes": True, "mask_in_text": True},
    {"strip_accents": False, "lowercase": False},
]
TEXTS = [
    *(text for f in FRAGMENTS for text in (f, f"a{f}b", f"2,000{f}, {f}", f"{f}{f} x")),
    *("a ``` b '''' c", "``x''", "the [MASK] in[MASK]", "in 2,012, and 1,999,"),
]


def check(tokenizer, texts, num_other=0):
    """Checks ids and places; some texts may have other ids than in Python."""
    ids, starts, ends = tokenizer.tokenize_with_spans(tf.constant(texts, tf.string))
    others = []
    for number, text in enumerate(texts):
        expected, spans = tokenizer.encoder.tokenize_with_offsets(text)
        if ids[number].numpy().tolist() != expected:
            others.append(text)
            continue
        received = np.stack([starts[number], ends[number]], axis=1)
        assert received.tolist() == [[*span] for span in spans], text
    assert len(others) <= num_other, others
    assert ids.nrows() == len(texts)


@pytest.mark.parametrize("options", OPTIONS)
def test_pieces(shared, options):
    tokenizer = AlbertTokenizer(shared / ENGLISH, **options)
    # A NUL is another unknown character in TensorFlow.
    num_other = sum("\0" in text for text in TEXTS)
    check(tokenizer, TEXTS, num_other)
    check(tokenizer, [])


def test_word_pieces(shared):
    tokenizer = WordPieceTokenizer(shared / CHINESE)
    check(tokenizer, [*TEXTS, "x" * 201, "\u0301a \u0301"])
    check(tokenizer, ["", ""])
    texts = ["a [MASK]好[MASK]", "[MASK]", "", "[mask]"]
    expected = tokenizer.encoder.encode_with_masks(texts)
    assert tokenizer.tokenize_with_masks(tf.constant(texts)).to_list() == expected
