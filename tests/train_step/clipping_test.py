"""Clipping of summed gradients: the three limits, loss scales and tables' slices."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_keras.train_step.clipping import Clipping

VALUES = [[3.0, 4.0], [0.0, -12.0, 0.0]]  # Norms 5 and 12, together 13.


def clip(clipping, gradients, scale=1.0):
    gradients = [gradient * scale for gradient in gradients]
    norm = tf.linalg.global_norm(gradients)
    clipped = clipping.apply(gradients, norm, tf.constant(scale))
    return [gradient.numpy() / scale for gradient in clipped]


@pytest.mark.parametrize("scale", [1.0, 2.0**13])
@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({}, VALUES),
        ({"global_clipnorm": 6.5}, [[1.5, 2.0], [0.0, -6.0, 0.0]]),
        ({"global_clipnorm": 20.0}, VALUES),
        ({"clipnorm": 10.0}, [[3.0, 4.0], [0.0, -10.0, 0.0]]),
        ({"clipvalue": 3.5}, [[3.0, 3.5], [0.0, -3.5, 0.0]]),
    ],
    ids=str,
)
def test_limits_are_those_of_the_unscaled_gradient(limits, expected, scale):
    clipped = clip(Clipping(**limits), [tf.constant(x) for x in VALUES], scale)
    for gradient, values in zip(clipped, expected, strict=True):
        assert np.allclose(gradient, values, rtol=1e-6)


def test_each_lookup_of_a_table_enters_the_norm_separately():
    # The same row twice: the norm of the original is sqrt(50), that of the sum 10.
    gradient = tf.IndexedSlices(
        tf.constant([[3.0, 4.0], [3.0, 4.0]]), tf.constant([1, 1]), tf.constant([5, 2])
    )
    limit = 50**0.5 / 4
    norm = tf.linalg.global_norm([gradient])
    (clipped,) = Clipping(global_clipnorm=limit).apply([gradient], norm, 1.0)
    expected = np.zeros((5, 2))
    expected[1] = [6.0 / 4, 8.0 / 4]
    assert np.allclose(clipped, expected, rtol=1e-6)


def test_a_norm_that_is_not_finite_leaves_no_finite_gradient():
    gradients = [tf.constant([np.inf, 1.0]), tf.constant([2.0])]
    for gradient in clip(Clipping(global_clipnorm=1.0), gradients):
        assert not np.isfinite(gradient).any()


@pytest.mark.parametrize("is_scaled", [False, True])
def test_the_optimizer_does_not_clip_meanwhile(is_scaled):
    optimizer = keras.optimizers.SGD(1.0, clipnorm=0.5)
    outer = keras.optimizers.LossScaleOptimizer(optimizer) if is_scaled else optimizer
    clipping = Clipping.of(outer)
    assert clipping == Clipping(clipnorm=0.5)
    with clipping.taken_from(outer):
        variable = keras.Variable([1.0])
        optimizer.apply([tf.constant([3.0])], [variable])
        assert variable.numpy().tolist() == [-2.0]
    assert optimizer.clipnorm == 0.5
