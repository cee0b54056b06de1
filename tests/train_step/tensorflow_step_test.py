"""The private names of Keras that the step on TensorFlow stands on are still there."""

import inspect

import numpy as np
import pytest
import tensorflow as tf
from keras.optimizers import Optimizer
from keras.src.backend.tensorflow.trainer import TensorFlowTrainer

from albert_keras.train_step.tensorflow_step import _add

# What the step computes is held by exact_test.py.


def test_keras_still_calls_what_is_overridden():
    assert "_maybe_symbolic_build" in inspect.getsource(TensorFlowTrainer.fit)
    update = inspect.getsource(Optimizer._backend_update_step)
    assert "self._all_reduce_sum_gradients(grads_and_vars)" in update


def test_slices_of_parts_stay_apart():
    slices = [
        tf.IndexedSlices(tf.constant([[value]]), tf.constant([3]), tf.constant([7, 1]))
        for value in (1.0, 2.0)
    ]
    (total,) = _add(slices[:1], slices[1:])
    assert total.indices.numpy().tolist() == [3, 3]
    assert float(tf.linalg.global_norm([total])) == pytest.approx(5**0.5)
    assert np.array(tf.convert_to_tensor(total))[3] == 3.0
