"""The private names of Keras that the step on TensorFlow stands on are still there."""

import inspect

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras.optimizers import Optimizer
from keras.src.backend.tensorflow.trainer import TensorFlowTrainer

from albert_keras.models import AlbertBackbone, AlbertTextClassifier
from albert_keras.train_step.tensorflow_step import TensorFlowStep, _add

# What the step computes is held by exact_test.py.


def test_keras_still_calls_what_is_overridden():
    assert "_maybe_symbolic_build" in inspect.getsource(TensorFlowTrainer.fit)
    update = inspect.getsource(Optimizer._backend_update_step)
    assert "self._all_reduce_sum_gradients(grads_and_vars)" in update


def test_a_fit_traces_the_step_once(monkeypatch):
    train_step, traces = TensorFlowStep.train_step, []

    def traced(self, data):
        traces.append(data)
        return train_step(self, data)

    monkeypatch.setattr(TensorFlowStep, "train_step", traced)
    backbone = AlbertBackbone.from_config_preset("albert_test")
    model = AlbertTextClassifier(backbone, num_classes=3)
    model.compile("sgd")
    names = ("token_ids", "segment_ids", "padding_mask")
    features = {name: np.ones((12, 7), "int32") for name in names}
    data = tf.data.Dataset.from_tensor_slices((features, np.arange(12) % 3)).batch(4)
    keras.Model.fit(model, data, epochs=2, shuffle=False, verbose=0)
    assert len(traces) == 1
    # All batches count, the one whose shapes were looked at too.
    assert int(model.optimizer.iterations) == 6


def test_slices_of_parts_stay_apart():
    slices = [
        tf.IndexedSlices(tf.constant([[value]]), tf.constant([3]), tf.constant([7, 1]))
        for value in (1.0, 2.0)
    ]
    (total,) = _add(slices[:1], slices[1:])
    assert total.indices.numpy().tolist() == [3, 3]
    assert float(tf.linalg.global_norm([total])) == pytest.approx(5**0.5)
    assert np.array(tf.convert_to_tensor(total))[3] == 3.0
