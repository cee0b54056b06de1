"""The TensorFlow step: tracing, overridden steps, running means, sums of slices.

`exact_test.py` tests the values that it computes.
"""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_keras.layers.seeds import Dropout
from albert_keras.models import (
    AlbertBackbone,
    AlbertMultipleChoice,
    AlbertPretrainer,
    AlbertQuestionAnswerer,
    AlbertTextClassifier,
)
from albert_keras.train_step import ExactTrainStep, WholeBatchLoss, infer
from albert_keras.train_step.clipping import Clipping
from albert_keras.train_step.plain_step import PlainStep
from albert_keras.train_step.tensorflow_step import TensorFlowStep
from tests.helpers import max_difference, randomize


def test_a_fit_traces_the_step_once(monkeypatch):
    train_step, traces = TensorFlowStep.train_step, []

    def traced(self, data):
        traces.append(data)
        return train_step(self, data)

    monkeypatch.setattr(TensorFlowStep, "train_step", traced)
    backbone = AlbertBackbone.from_config_preset("albert_test")
    model = AlbertTextClassifier(backbone, num_classes=3)
    # Its first step needs variables.
    model.compile("adam")
    names = ("token_ids", "segment_ids", "padding_mask")
    features = {name: np.ones((12, 7), "int32") for name in names}
    data = tf.data.Dataset.from_tensor_slices((features, np.arange(12) % 3)).batch(4)
    keras.Model.fit(model, data, epochs=2, shuffle=False, verbose=0)
    assert len(traces) == 1
    # No batch is used up to find the shapes.
    assert int(model.optimizer.iterations) == 6


class Logged(ExactTrainStep, keras.Model):
    """Overrides the steps as Keras documents it."""

    def train_step(self, data):
        logs = super().train_step(data)
        return {**logs, "twice": 2 * logs["loss"]}

    def test_step(self, data):
        logs = super().test_step(data)
        return {**logs, "thrice": 3 * logs["loss"]}


def make_small_model(kind=Logged, **options):
    keras.utils.set_random_seed(3)
    inputs = keras.Input((2,))
    model = kind(inputs, keras.layers.Dense(3)(inputs))
    model.compile("sgd", "mse", metrics=["mae"], **options)
    return model


def make_small_data():
    x = np.random.default_rng(5).normal(size=(23, 2))
    return tf.data.Dataset.from_tensor_slices((x, np.ones((23, 3)))).batch(5)


@pytest.mark.parametrize("steps_per_execution", [1, 3])
@pytest.mark.parametrize("run_eagerly", [False, True])
def test_overridden_steps_get_the_loss_and_the_metrics(
    steps_per_execution, run_eagerly
):
    model = make_small_model(
        steps_per_execution=steps_per_execution,
        run_eagerly=run_eagerly,
        log_gradient_norm=True,
    )
    data = make_small_data().take(3)
    logs = model.fit(data, shuffle=False, verbose=0).history
    assert logs.keys() == {"loss", "mae", "gradient_norm", "twice"}
    assert logs["twice"] == pytest.approx([2 * logs["loss"][0]])
    logs = model.evaluate(data, verbose=0, return_dict=True)
    assert logs.keys() == {"loss", "mae", "thrice"}
    assert float(logs["thrice"]) == pytest.approx(3 * float(logs["loss"]))


class OwnStep(ExactTrainStep, keras.Model):
    """Trains by a step of its own, as in Keras' guide."""

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x, y, self(x, training=True))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply(gradients, self.trainable_variables)
        return {"loss": loss}


def test_the_optimizer_clips_in_a_step_of_the_users_own():
    model = make_small_model(OwnStep)
    model.compile(keras.optimizers.SGD(1.0, global_clipnorm=0.125), "mse")
    before = model.get_weights()
    model.fit(make_small_data().take(1), shuffle=False, verbose=0)
    pairs = zip(before, model.get_weights(), strict=True)
    assert sum(((a - b) ** 2).sum() for a, b in pairs) ** 0.5 == pytest.approx(0.125)


# === Clipping of summed gradients: the three limits, loss scales and tables' slices ===


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


# === Models on a backend without its own step, which trains on whole batches only ===


def test_micro_batches_are_refused(monkeypatch):
    monkeypatch.setattr(AlbertPretrainer, "can_split", PlainStep.can_split)
    model = AlbertPretrainer(AlbertBackbone.from_config_preset("albert_test"))
    model.compile("sgd")
    with pytest.raises(ValueError, match="Received: micro_batches=2. Leave it out"):
        model.compile("sgd", micro_batches=2)


# === Inference on single batches: equal to `predict`, compiled once, without leaks ===


def make_model(kind=AlbertTextClassifier, *arguments):
    backbone = AlbertBackbone.from_config_preset("albert_test", dropout=0.4)
    return randomize(kind(backbone, *arguments))


def make_features(*shape):
    draw = np.random.default_rng(sum(shape))
    num_real = draw.integers(2, shape[-1], (*shape[:-1], 1))
    return {
        "token_ids": draw.integers(5, 61, shape, "int32"),
        "segment_ids": draw.integers(0, 2, shape, "int32"),
        "padding_mask": (np.arange(shape[-1]) < num_real).astype("int32"),
    }


@pytest.mark.parametrize(
    ("kind", "arguments", "shapes"),
    [
        (AlbertTextClassifier, [3], [(4, 11), (4, 7), (5, 7), (1, 18)]),
        # Four choices, then three.
        (AlbertMultipleChoice, [], [(2, 4, 11), (5, 4, 8), (5, 3, 8)]),
        (AlbertQuestionAnswerer, [], [(2, 9), (3, 17)]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_same_as_the_model_for_batches_of_any_shape(
    kind, arguments, shapes, monkeypatch
):
    model = make_model(kind, *arguments)
    predict_step, traces = model.predict_step, []

    def traced(data):
        traces.append(data)
        return predict_step(data)

    monkeypatch.setattr(model, "predict_step", traced)
    for shape in shapes:
        features = make_features(*shape)
        received = infer(model, features)
        assert all(isinstance(x, np.ndarray) for x in keras.tree.flatten(received))
        assert max_difference(received, model(features)) < 1e-5
    assert len(traces) == 1


class MeanOfRows(WholeBatchLoss):
    """Mean squared error, which a step need not compute on the whole batch."""

    def call(self, y_true, y_pred):
        return keras.ops.mean(keras.ops.square(y_pred - y_true))


def test_a_loss_of_whole_batches_is_computed_with_the_same_dropout_twice():
    weights = []
    for loss in (keras.losses.MeanSquaredError(), MeanOfRows()):
        keras.utils.set_random_seed(3)
        inputs = keras.Input((7,))
        dropped = Dropout(0.5, seed=5)(inputs)
        model = ExactModel(inputs, keras.layers.Dense(3)(dropped))
        model.compile("sgd", loss, micro_batches=2)
        x = np.random.default_rng(5).normal(size=(13, 7))
        model.fit(x, np.ones((13, 3)), batch_size=5, shuffle=False, verbose=0)
        weights.append(model.get_weights())
    for plain, whole in zip(*weights, strict=True):
        assert np.abs(plain - whole).max() < 1e-6


class ExactModel(ExactTrainStep, keras.Model):
    """Trains by the step as it is."""


def test_a_loss_of_whole_batches_takes_no_weights_of_rows():
    inputs = keras.Input((2,))
    model = ExactModel(inputs, keras.layers.Dense(3)(inputs))
    model.compile("sgd", MeanOfRows())
    with pytest.raises(ValueError, match="cannot have sample weights"):
        model.evaluate(np.ones((5, 2)), np.ones((5, 3)), sample_weight=np.ones(5))
