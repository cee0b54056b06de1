"""The written-out gradient is that of Keras' layer."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_keras.layers.normalization import LayerNormalization

DRAW = np.random.default_rng(11)
X = DRAW.normal(2.0, 3.0, (5, 7, 23))
UPSTREAM = DRAW.normal(size=X.shape)


def gradients(layer_class, dtype, training):
    layer = layer_class(epsilon=1e-12, dtype=dtype)
    layer.build(X.shape)
    draw = np.random.default_rng(12)
    layer.set_weights([draw.normal(size=23), draw.normal(size=23)])
    x = tf.constant(X, layer.compute_dtype)
    with tf.GradientTape() as tape:
        tape.watch(x)
        arguments = {"training": True} if training else {}
        y = layer(x, **arguments)
    upstream = tf.constant(UPSTREAM, y.dtype)
    sources = [x, *(variable.value for variable in layer.trainable_variables)]
    return [y, *tape.gradient(y, sources, output_gradients=upstream)]


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("float32", 2e-5), ("float64", 1e-12)]
)
def test_values_and_gradients_are_those_of_keras(dtype, tolerance):
    expected = gradients(keras.layers.LayerNormalization, dtype, training=False)
    received = gradients(LayerNormalization, dtype, training=True)
    for one, other in zip(expected, received, strict=True):
        assert one.dtype == other.dtype
        assert np.abs(np.array(one) - np.array(other)).max() < tolerance


def test_inference_is_that_of_keras_to_the_bit():
    expected = gradients(keras.layers.LayerNormalization, "float32", training=False)
    received = gradients(LayerNormalization, "float32", training=False)
    assert np.array_equal(expected[0], received[0])


def test_half_precision_normalizes_in_float32():
    outputs = gradients(LayerNormalization, "mixed_bfloat16", training=True)
    exact = gradients(LayerNormalization, "float32", training=True)
    assert outputs[0].dtype == "bfloat16"
    assert outputs[2].dtype == "float32"
    # A rounding of inputs and outputs, 2^-8 of values up to about 7.
    assert np.abs(np.array(outputs[0], "float32") - np.array(exact[0])).max() < 0.06
