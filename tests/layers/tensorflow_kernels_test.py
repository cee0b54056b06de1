"""A rematerialized stack has the outputs and gradients of the plain one."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_keras.config import AlbertConfig
from albert_keras.layers import EncoderStack

X = np.random.default_rng(2).normal(size=(3, 7, 32))
MASK = np.array([[1] * 7, [1] * 5 + [0] * 2, [1] * 3 + [0] * 4])


def outputs_and_gradients(rematerialization, graph=False, **fields):
    config = AlbertConfig.from_preset(
        "albert_test", rematerialization=rematerialization, **fields
    )
    keras.utils.set_random_seed(1)
    stack = EncoderStack(config, dtype="float64")
    x = tf.constant(X[..., : config.hidden_dim], "float64")
    stack(x, MASK)
    draw = np.random.default_rng(5)
    variables = {
        v.path: v for encoder in stack.encoders for v in encoder.trainable_variables
    }
    for variable in variables.values():
        variable.assign(variable + draw.normal(0.0, 0.2, variable.shape))
    for encoder in stack.encoders:
        encoder.seed_generator.state.assign([4, 2])

    def differentiate(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = stack(x, MASK, training=True)
        sources = [x, *(variable.value for variable in variables.values())]
        return [y, *tape.gradient(y, sources, output_gradients=tf.sin(y))]

    return (tf.function(differentiate) if graph else differentiate)(x)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("graph", "fields"),
    [
        (False, {"num_layers": 5, "dropout": 0.3}),
        (True, {"num_layers": 5, "dropout": 0.3}),
        (False, {"num_layers": 4, "num_groups": 2}),
        (True, {"num_layers": 2, "sharing": "attention", "attention_dropout": 0.2}),
    ],
    ids=["shared", "shared-graph", "groups", "attention-graph"],
)
def test_outputs_and_gradients_are_those_of_the_plain_stack(fields, graph):
    plain = outputs_and_gradients(rematerialization=False, **fields)
    again = outputs_and_gradients(rematerialization=True, graph=graph, **fields)
    assert len(plain) == len(again) > 10
    for one, other in zip(plain, again, strict=True):
        assert np.abs(one).max() > 0
        assert np.abs(one - other).max() < 1e-12


def test_frozen_encoders_pass_the_gradient_on():
    config = AlbertConfig.from_preset("albert_test", rematerialization=True)
    stack = EncoderStack(config, dtype="float64")
    x = tf.constant(X[..., : config.hidden_dim], "float64")
    stack(x, MASK)
    gradients = []
    for trainable in (True, False):
        for encoder in stack.encoders:
            encoder.trainable = trainable
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = stack(x, MASK, training=True)
        gradients.append(tape.gradient(y, x, output_gradients=tf.sin(y)))
    assert np.abs(gradients[0]).max() > 0
    assert np.abs(gradients[0] - gradients[1]).max() < 1e-12
