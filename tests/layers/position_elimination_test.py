"""Position elimination: equal to plain loops over rows, without padding."""

import math

import keras
import numpy as np
import pytest

from albert_keras.layers import EncoderStack, attention_bias
from tests.helpers import make_config, max_difference, randomize

BATCH, LENGTH = 3, 17
HIDDEN = np.random.default_rng(3).normal(size=(BATCH, LENGTH, 28)).astype("float32")
NUM_REAL = np.array([17, 9, 5])
MASK = (np.arange(LENGTH) < NUM_REAL[:, np.newaxis]).astype("int32")


def make_stack(**fields):
    stack = EncoderStack(make_config(initializer_range=0.3, **fields))
    stack.build(HIDDEN.shape)
    return randomize(stack)


def plain_row(stack, x, shares):
    """Applies the stack to one row without padding, and chooses positions one by one."""
    num_tokens = len(x)
    for encoder, share in zip(stack.encoders, shares, strict=True):
        bias = attention_bias(np.ones((1, len(x))))
        attended, scores = encoder.attention(
            x[np.newaxis], bias, return_attention_scores=True
        )
        attended, scores = map(keras.ops.convert_to_numpy, (attended[0], scores[0]))
        received = [math.inf]
        for place in range(1, len(x)):
            others = [query for query in range(len(x)) if query != place]
            received.append(sum(scores[:, query, place].sum() for query in others))
        best = sorted(range(len(x)), key=lambda place: -received[place])
        kept = sorted(best[: max(1, math.ceil(share * num_tokens - 1e-6))])
        x = keras.ops.convert_to_numpy(encoder.feed_forward(attended[np.newaxis, kept]))
        x = x[0]
    return x


@pytest.mark.parametrize(
    ("keep", "shares", "fields"),
    [
        ([0.8, 0.8, 0.3], [0.8, 0.8, 0.3], {"sharing": "none"}),
        # The cube root is the share that stays of the layer before.
        ([0.216], [0.6] * 2 + [0.36] * 2 + [0.216] * 2, {"num_inner_repetitions": 2}),
    ],
)
def test_rows_are_those_of_plain_loops(keep, shares, fields):
    stack = make_stack(keep_positions=keep, **fields)
    output = keras.ops.convert_to_numpy(stack(HIDDEN, MASK))
    assert output.shape == (BATCH, math.ceil(shares[-1] * LENGTH), 28)
    symbolic = stack(keras.KerasTensor(HIDDEN.shape), keras.KerasTensor(MASK.shape))
    assert symbolic.shape == output.shape
    states = []
    again, scores = stack(
        HIDDEN,
        MASK,
        every_layer=lambda index, x: states.append(x),
        return_attention_scores=True,
    )
    assert max_difference([again, states[-1]], [output, output]) < 1e-5
    assert scores[-1].shape[-1] == states[-2].shape[1]
    for row, num_real in enumerate(NUM_REAL):
        expected = plain_row(stack, HIDDEN[row, :num_real], shares)
        assert max_difference(output[row, : len(expected)], expected) < 1e-5


def test_all_shares_1_is_the_ordinary_stack():
    stack, ordinary = make_stack(keep_positions=[1.0] * 3), make_stack()
    ordinary.set_weights(stack.get_weights())
    assert max_difference(stack(HIDDEN, MASK), ordinary(HIDDEN, MASK)) == 0


def test_packed_rows_are_refused():
    stack = make_stack(keep_positions=[0.5])
    with pytest.raises(ValueError, match=r"one example each.* keep_positions=\(0.5,\)"):
        stack(HIDDEN, np.ones((BATCH, LENGTH, LENGTH)))
