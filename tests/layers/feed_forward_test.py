"""Feed-forward sub-layer and its activations."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_keras.layers import FeedForward
from albert_keras.layers.activations import ACTIVATION_FUNCTIONS, activate
from tests.helpers import make_config, max_difference

HIDDEN = np.random.default_rng(3).normal(size=(5, 13, 28)).astype("float32")


def test_feed_forward_has_hidden_dropout_only():
    seeds = [keras.ops.array([3, 5], "uint32")]

    def change(**rates):
        layer = FeedForward(make_config(**rates))
        return max_difference(layer(HIDDEN, seeds=seeds), layer(HIDDEN))

    assert change(dropout=0.3, attention_dropout=0.0) > 1e-3
    assert change(dropout=0.0, attention_dropout=0.3) == 0.0


# === Activations have their known values, compiled for training or not ===


POINTS = np.linspace(-6.0, 6.0, 101, dtype="float32")


def value_and_gradient(name, training, dtype="float32"):
    x = tf.constant(POINTS, dtype)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = activate(name, x, training)
    return y, tape.gradient(y, x)


def test_activations_have_their_own_values():
    x = keras.ops.array([-1.0, 2.7])
    values = {name: np.array(activate(name, x)) for name in ACTIVATION_FUNCTIONS}
    assert values["gelu"] == pytest.approx([-0.15865525, 2.69063913], abs=1e-6)
    assert values["gelu_tanh"] == pytest.approx([-0.15880801, 2.69110927], abs=1e-5)
    assert values["silu"] == pytest.approx([-0.26894142, 2.52997184], abs=1e-6)
    assert values["relu"].tolist() == pytest.approx([0.0, 2.7])


# XLA's own tanh of float32 is 5e-6 off where the tests let it compile plainly.
@pytest.mark.parametrize(("dtype", "within"), [("float32", 6e-6), ("float64", 1e-12)])
@pytest.mark.parametrize("name", ACTIVATION_FUNCTIONS)
def test_training_has_the_same_values_and_gradients(name, dtype, within):
    plain = value_and_gradient(name, training=False, dtype=dtype)
    compiled = value_and_gradient(name, training=True, dtype=dtype)
    assert max_difference(compiled, plain) < within


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", ACTIVATION_FUNCTIONS)
def test_bfloat16_is_rounded_once(name, training):
    points = np.array(tf.cast(tf.cast(POINTS, "bfloat16"), "float64"))
    x = tf.constant(points)
    with tf.GradientTape() as tape:
        tape.watch(x)
        exact = activate(name, x)
    exact = exact, tape.gradient(exact, x)
    rounded = value_and_gradient(name, training, dtype="bfloat16")
    for one, other in zip(exact, rounded, strict=True):
        # bfloat16 has 8 binary digits; 1e-5 is the error of float32 before it.
        bound = 1e-5 + 2**-8 * np.abs(one)
        assert (np.abs(one - tf.cast(other, "float64")) <= bound).all()
