"""Packed examples for tiny models."""

import numpy as np

from albert_keras.text import Examples
from albert_keras.tokenizers.ragged import offsets_of


def make_examples(lengths, vocabulary_size=61):
    """Returns `Examples` of random tokens."""
    ids = np.random.default_rng(5).integers(0, vocabulary_size, sum(lengths), "int32")
    arrays = {"token_ids": ids, "segment_ids": np.zeros_like(ids)}
    return Examples(offsets_of(lengths), arrays)
