"""Transformer layers and their stack: hook, dropout, recomputation, sharing, pieces."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_keras.layers import (
    EncoderStack,
    TransformerEncoder,
    attention_bias,
    build_encoders,
)
from albert_keras.layers.chunks import CHUNK_LENGTH
from tests.helpers import make_config, make_inputs, max_difference, randomize

HIDDEN = np.random.default_rng(3).normal(size=(5, 13, 28)).astype("float32")
MASK = make_inputs()["padding_mask"]
BIAS = attention_bias(MASK)


def random_stack(**fields):
    stack = EncoderStack(make_config(**fields))
    stack(HIDDEN, MASK)
    return randomize(stack)


@pytest.mark.parametrize("rematerialization", [False, True])
def test_loss_of_all_hidden_states_has_gradients(rematerialization):
    fields = {"num_layers": 3, "dropout": 0.3, "sharing": "ffn"}
    stack = random_stack(rematerialization=rematerialization, **fields)
    teacher = np.random.default_rng(6).normal(size=(3, *HIDDEN.shape))
    with tf.GradientTape() as tape:
        _, outputs = stack(HIDDEN, MASK, training=True, return_hidden_states=True)
        states = tf.stack(outputs["hidden_states"][1:])
        loss = tf.reduce_mean((states - tf.cast(teacher, states.dtype)) ** 2)
    weights = [variable.value for variable in stack.trainable_variables]
    for gradient in tape.gradient(loss, weights):
        assert np.abs(tf.convert_to_tensor(gradient)).max() > 0.0


def test_dropout_is_seeded_and_drawn_anew_at_every_call():
    def run():
        keras.utils.set_random_seed(17)
        encoder = TransformerEncoder(make_config(dropout=0.3))
        return [np.array(encoder(HIDDEN, BIAS, training=True)) for _ in range(2)]

    first, second = run()
    assert max_difference(first, second) > 1e-3
    assert max_difference(run(), [first, second]) == 0.0


# Layer i belongs to group i * 14 // 18, where floating point goes astray.
GROUPS_OF_18_IN_14 = [0, 0, 1, 2, 3, 3, 4, 5, 6, 7, 7, 8, 9, 10, 10, 11, 12, 13]


def groups(stack):
    """Numbers the encoders in the order in which they first stand in the stack."""
    order = list(dict.fromkeys(stack))
    return [order.index(encoder) for encoder in stack]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ({"num_layers": 5}, [0, 0, 0, 0, 0]),
        ({"num_layers": 6, "num_groups": 2}, [0, 0, 0, 1, 1, 1]),
        ({"num_layers": 7, "num_groups": 3}, [0, 0, 0, 1, 1, 2, 2]),
        ({"num_layers": 18, "num_groups": 14}, GROUPS_OF_18_IN_14),
        ({"num_layers": 3, "num_inner_repetitions": 2}, [0, 1, 0, 1, 0, 1]),
        (
            {"num_layers": 4, "num_groups": 2, "num_inner_repetitions": 3},
            [0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5],
        ),
        ({"num_layers": 4, "num_groups": 12}, [0, 1, 2, 3]),
    ],
)
def test_layers_of_a_group_are_one_object(sizes, expected):
    assert groups(build_encoders(make_config(**sizes))) == expected


# === Long rows in pieces have the values of rows at once ===


@pytest.mark.parametrize(
    "fields", [{}, {"attention": "block", "block_size": 48, "num_global_blocks": 2}]
)
def test_pieces_of_long_rows_change_nothing(fields):
    config = make_config(dropout=0.0, attention_dropout=0.0, **fields)
    length = 2 * CHUNK_LENGTH + 83
    stack = EncoderStack(config)
    draw = np.random.default_rng(3)
    x = draw.normal(size=(2, length, config.hidden_dim)).astype("float32")
    mask = np.arange(length) < [[length], [length - 300]]
    # Training computes all at once.
    assert max_difference(stack(x, mask), stack(x, mask, training=True)) < 1e-5
