"""Picking tokens, and what keeps the examples of a packed row apart."""

import keras
import numpy as np

from albert_keras.layers.positions import (
    positions_in_example,
    same_example_mask,
    take_tokens,
)

# Examples of 3, 1, 4 and 6 tokens; the second row is full.
SEQUENCE_IDS = np.array(
    [[1, 1, 1, 2, 3, 3, 3, 3, 0, 0], [1, 1, 1, 1, 1, 1, 2, 2, 2, 2]], "int32"
)


def test_tokens_are_those_of_the_positions():
    x = np.random.default_rng(3).normal(size=(2, 5, 3)).astype("float32")
    received = take_tokens(x, np.array([[4, 0, 0, 2], [1, 3, 4, 1]]))
    expected = np.stack([x[0, [4, 0, 0, 2]], x[1, [1, 3, 4, 1]]])
    assert np.array_equal(received, expected)


def test_tokens_see_their_own_example_only():
    mask = np.array(same_example_mask(SEQUENCE_IDS))
    expected = np.zeros((2, 10, 10), bool)
    for row, start, stop in ((0, 0, 3), (0, 3, 4), (0, 4, 8), (1, 0, 6), (1, 6, 10)):
        expected[row, start:stop, start:stop] = True
    real = SEQUENCE_IDS > 0
    assert np.array_equal(mask[real], expected[real])
    # Real tokens see no padding; padding sees itself, so that its softmax has a sum.
    assert mask[~real].tolist() == [[False] * 8 + [True] * 2] * 2


def test_positions_begin_anew_with_each_example():
    positions = positions_in_example(same_example_mask(SEQUENCE_IDS))
    assert np.array(positions).tolist() == [
        [0, 1, 2, 0, 0, 1, 2, 3, 0, 1],
        [0, 1, 2, 3, 4, 5, 0, 1, 2, 3],
    ]
    assert keras.backend.standardize_dtype(positions.dtype) == "int32"


def test_positions_are_exact_beyond_what_half_precision_counts():
    ids = np.repeat([1, 2], [2051, 301])[np.newaxis].astype("int32")
    positions = positions_in_example(same_example_mask(ids))
    expected = np.concatenate([np.arange(2051), np.arange(301)])
    assert np.array_equal(positions[0], expected)
