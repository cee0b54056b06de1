"""Samples of pieces: by the softmax, and by each example's own seed."""

import numpy as np

from albert_keras.layers.sampling import sample_pieces

NUM_DRAWS = 4001
SEEDS = np.array([[7, 1], [7, 2], [8, 1]], "int32")
LOGITS = np.array(
    [[0.0, 1.0, -1.0, 2.0, -1e9], [3.0, 0.0, 0.0, 0.0, 0.0], [0.1, 0.2, 0.3, 0.4, 0.5]],
    "float32",
)


def test_pieces_are_as_frequent_as_the_softmax_says():
    logits = np.repeat(LOGITS[:, np.newaxis], NUM_DRAWS, axis=1)
    sampled = np.array(sample_pieces(logits, SEEDS))
    assert sampled.shape == (3, NUM_DRAWS)
    assert sampled.dtype == "int32"
    for row, pieces in zip(LOGITS.astype("float64"), sampled, strict=True):
        expected = np.exp(row) / np.exp(row).sum()
        frequencies = np.bincount(pieces, minlength=5) / NUM_DRAWS
        deviation = np.sqrt(expected * (1 - expected) / NUM_DRAWS)
        assert (np.abs(frequencies - expected) <= 4 * deviation).all()


def test_samples_depend_on_the_seed_of_their_example_alone():
    logits = np.random.default_rng(5).normal(size=(3, 17, 61)).astype("float32")
    sampled = np.array(sample_pieces(logits, SEEDS))
    rows = [2, 0]
    again = np.array(sample_pieces(logits[rows], SEEDS[rows]))
    assert np.array_equal(again, sampled[rows])
    same_logits = np.repeat(logits[:1], 3, axis=0)
    first, second, third = np.array(sample_pieces(same_logits, SEEDS))
    assert (first != second).any()
    assert (first != third).any()
