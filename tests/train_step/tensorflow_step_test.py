"""The TensorFlow step: tracing, overridden steps, running means, sums of slices.

`exact_test.py` tests the values that it computes.
"""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_keras.models import AlbertBackbone, AlbertTextClassifier
from albert_keras.train_step import ExactTrainStep
from albert_keras.train_step.tensorflow_step import TensorFlowStep, _add


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


def test_an_optimizer_keeps_its_limits_for_other_models():
    model = make_small_model()
    model.optimizer.global_clipnorm = 0.125
    model.fit(make_small_data(), shuffle=False, verbose=0)
    assert model.optimizer.global_clipnorm == 0.125


def test_running_means_are_built_without_a_batch_and_start_at_zero():
    model = make_small_model()
    assert len(model.metrics_variables) == 2
    model.build_running_means(make_small_data().element_spec)
    # The sum and the count of the loss and of the absolute error.
    assert [float(v.numpy()) for v in model.metrics_variables] == [0.0] * 4


def test_metrics_of_eager_steps_may_use_numpy():
    def mean_output(y_true, y_pred):
        return y_pred.numpy().mean()

    model = make_small_model()
    model.compile("sgd", "mse", metrics=[mean_output], run_eagerly=True)
    data = make_small_data().take(1)
    measured = model.evaluate(data, verbose=0, return_dict=True)["mean_output"]
    expected = model.predict(data, verbose=0).mean()
    assert float(measured) == pytest.approx(float(expected), rel=1e-6)


def test_slices_of_parts_are_not_summed():
    slices = [
        tf.IndexedSlices(tf.constant([[value]]), tf.constant([3]), tf.constant([7, 1]))
        for value in (1.0, 2.0)
    ]
    (total,) = _add(slices[:1], slices[1:])
    assert total.indices.numpy().tolist() == [3, 3]
    assert float(tf.linalg.global_norm([total])) == pytest.approx(5**0.5)
    assert np.array(tf.convert_to_tensor(total))[3] == 3.0
