"""LAMB against five steps of the original, and properties of its formula."""

import keras
import numpy as np
import pytest

from albert_keras.converters import load_checkpoint
from albert_keras.converters.google import GoogleCheckpoint
from albert_keras.converters.heads import head_rows
from albert_keras.converters.name_table import expand_rows
from albert_keras.optimizers import Lamb


@keras.saving.register_keras_serializable(package="tests")
class ListedRates(keras.optimizers.schedules.LearningRateSchedule):
    """Learning rates from a list, one for each step."""

    def __init__(self, rates):
        self.rates = rates

    def __call__(self, step):
        return keras.ops.take(keras.ops.array(self.rates, "float32"), step)

    def get_config(self):
        return {"rates": self.rates}


class StepLosses(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.losses = []

    def on_epoch_end(self, epoch, logs=None):
        self.losses.append(logs["loss"])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["google_tf1_shared", "google_tf1_groups"])
def test_five_steps_of_fit_equal_the_original(fixtures, name):
    folder = fixtures / name
    model = load_checkpoint(folder)
    inputs, steps = (
        np.load(folder / "forward.npz"),
        np.load(folder / "lamb_steps.npz"),
    )
    rates = steps["learning_rates"].tolist()
    # An epoch is one step on the whole batch, so that its logs are of that step.
    optimizer = Lamb(ListedRates(rates), weight_decay=0.01, global_clipnorm=1.0)
    model.compile(optimizer, run_eagerly=True)
    features = {
        "token_ids": inputs["input_ids"],
        "segment_ids": inputs["segment_ids"],
        "padding_mask": inputs["input_mask"],
        "mask_positions": inputs["masked_lm_positions"],
    }
    labels = {
        "mlm_logits": inputs["masked_lm_ids"],
        "sop_logits": inputs["next_sentence_labels"][:, 0],
    }
    weights = {
        "mlm_logits": inputs["masked_lm_weights"],
        "sop_logits": np.ones(len(inputs["input_ids"]), "float32"),
    }
    import tensorflow as tf

    dataset = tf.data.Dataset.from_tensors((features, labels, weights))
    record = StepLosses()
    model.fit(dataset, epochs=len(rates), callbacks=[record], verbose=0)

    assert np.abs(np.array(record.losses) - steps["losses"]).max() < 2e-5
    variables = {v.path: v for v in model.weights}
    rows = expand_rows(
        GoogleCheckpoint.backbone_rows + head_rows(GoogleCheckpoint, "pretraining"),
        model.backbone.albert_config,
    )
    compared = 0
    for row in rows:
        expected = steps["after/" + row.source]
        received = keras.ops.convert_to_numpy(variables[row.target])
        expected = expected.T if row.transposed else expected
        assert np.abs(received - expected).max() < 2e-5, row.source
        compared += 1
    assert compared == len(model.weights)


def make_variable(values, path):
    layer, name = path.split("/")
    with keras.name_scope(layer):
        return keras.Variable(np.array(values, "float32"), name=name)


def test_bias_correction_makes_the_first_update_the_sign_of_the_gradient():
    bias = make_variable([1.0, 1.0, 1.0], "dense/bias")
    optimizer = Lamb(0.25, bias_correction=True)
    optimizer.apply([keras.ops.array([0.3, -20.0, 0.0])], [bias])
    assert np.allclose(keras.ops.convert_to_numpy(bias), [0.75, 1.25, 1.0], atol=1e-5)


def test_zero_norms_have_ratio_one():
    kernel = make_variable([0.0, 0.0], "dense/kernel")
    Lamb(0.5).apply([keras.ops.array([1.0, -1.0])], [kernel])
    step = 0.5 * 0.1 / 0.001**0.5
    assert np.allclose(keras.ops.convert_to_numpy(kernel), [-step, step], rtol=1e-4)


@pytest.mark.parametrize("bias_correction", [False, True])
def test_trust_ratios_use_the_moments_and_weights_after_the_last_step(bias_correction):
    draw = np.random.default_rng(7)
    kernel = keras.Variable(draw.normal(size=(5, 3)).astype("float32"), name="kernel")
    bias = keras.Variable(draw.normal(size=3).astype("float32"), name="bias")
    optimizer = Lamb(0.125, weight_decay=0.25, bias_correction=bias_correction)
    optimizer.build([kernel, bias])
    assert optimizer.trust_ratios() == {}
    gradient = draw.normal(size=(5, 3)).astype("float32")
    optimizer.apply([gradient, np.ones(3, "float32")], [kernel, bias])
    corrections = (0.1, 0.001) if bias_correction else (1.0, 1.0)
    m, v = (0.1 * gradient / corrections[0], 0.001 * gradient**2 / corrections[1])
    weights = keras.ops.convert_to_numpy(kernel)
    update = m / (np.sqrt(v) + 1e-6) + 0.25 * weights
    expected = np.linalg.norm(weights) / np.linalg.norm(update)
    # Biases are not adapted.
    assert optimizer.trust_ratios() == {"kernel": pytest.approx(expected, rel=1e-5)}
