"""Long rows in pieces have the values of rows at once."""

import numpy as np
import pytest

from albert_keras.layers import EncoderStack
from albert_keras.layers.pieces import PIECE_LENGTH, concatenate_in_turn, slices
from tests.helpers import make_config, max_difference


@pytest.mark.parametrize("length", [1, 7, 12, 13, 29])
@pytest.mark.parametrize("start", [0, 2])
def test_slices_cover_the_axis_in_order(length, start):
    axis = np.arange(length)
    pieces = [axis[piece] for piece in slices(length, 6, start)]
    assert np.array_equal(np.concatenate(pieces), axis[start:])
    assert max(map(len, pieces)) <= 6
    assert len(slices(None, 6, start)) == 1


def test_results_are_joined_in_order():
    rows = np.random.default_rng(2).normal(size=(3, 29, 5)).astype("float32")
    functions = [lambda piece=piece: rows[:, piece] * 2 for piece in slices(29, 6)]
    assert np.array_equal(concatenate_in_turn(functions), rows * 2)


@pytest.mark.parametrize(
    "fields", [{}, {"attention": "block", "block_size": 48, "num_global_blocks": 2}]
)
def test_pieces_of_long_rows_change_nothing(fields):
    config = make_config(dropout=0.0, attention_dropout=0.0, **fields)
    length = 2 * PIECE_LENGTH + 83
    stack = EncoderStack(config)
    draw = np.random.default_rng(3)
    x = draw.normal(size=(2, length, config.hidden_dim)).astype("float32")
    mask = np.arange(length) < [[length], [length - 300]]
    # Training computes all at once.
    assert max_difference(stack(x, mask), stack(x, mask, training=True)) < 1e-5
