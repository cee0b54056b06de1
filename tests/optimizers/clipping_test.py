"""Clipping by global norm, on one device; `trainer_test` holds it on two."""

import keras
import numpy as np
import pytest

from albert_keras.optimizers import Lamb


@pytest.mark.parametrize(("clipnorm", "factor"), [(1.0, 1 / 13), (20.0, 1.0)])
def test_only_norms_above_the_limit_are_scaled(clipnorm, factor):
    variables = [
        keras.Variable(np.zeros(2, "float32"), name="bias"),
        keras.Variable(np.zeros(3, "float32"), name="bias"),
    ]
    gradients = [keras.ops.array([3.0, 4.0]), keras.ops.array([0.0, 12.0, 0.0])]
    optimizer = Lamb(0.0, global_clipnorm=clipnorm)
    optimizer.apply(gradients, variables)
    momentum = keras.ops.convert_to_numpy(optimizer.variables[2])
    assert np.allclose(momentum, 0.1 * factor * np.array([3.0, 4.0]), rtol=1e-5)


def test_each_lookup_of_a_table_enters_the_norm_by_itself():
    import tensorflow as tf

    table = keras.Variable(np.zeros((5, 2), "float32"), name="bias")
    # Twice the same row: the original's norm is sqrt(50), not that of the sum, 10.
    gradient = tf.IndexedSlices(tf.constant([[3.0, 4.0], [3.0, 4.0]]), [1, 1], [5, 2])
    optimizer = Lamb(0.0, global_clipnorm=50**0.5 / 4)
    optimizer.apply([gradient], [table])
    momentum = keras.ops.convert_to_numpy(optimizer.variables[2])
    assert np.allclose(momentum[1], [0.1 * 6.0 / 4, 0.1 * 8.0 / 4], rtol=1e-5)
    assert not momentum[[0, 2, 3, 4]].any()
