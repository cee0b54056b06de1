"""Losses of a batch, and its weights as shares, however it is divided."""

import math

import keras
import numpy as np
import pytest

from albert_keras.pretraining import PretrainingTask
from albert_keras.train_step import ExactTrainStep
from albert_keras.train_step.losses import (
    HardestShare,
    OutputLosses,
    SmoothedCrossentropy,
    as_mean,
    weighted_sum,
)
from albert_keras.train_step.weights import GlobalWeights, global_weights, split_batch

DRAW = np.random.default_rng(3)
# Targets for sequences, and for tokens.
SHAPES = [(7,), (5, 3)]


def cross_entropy(**arguments):
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True, **arguments)


def test_half_precision_is_summed_in_float32():
    values = keras.ops.full((4096, 1), 0.25, dtype="bfloat16")
    loss = keras.losses.MeanAbsoluteError()
    weights = np.full(4096, 1 / 4096, "float32")
    assert float(weighted_sum(loss, np.zeros((4096, 1)), values, weights)) == 0.25


@pytest.mark.parametrize(
    ("loss", "weights", "message"),
    [
        ({"pairs": "mse"}, {"pieces": 2}, "weights pieces for pairs."),
        ({"pieces": "mse", "pairs": "mse"}, None, "Received: pairs, other for pieces"),
        ("mse", None, "Received: pairs, other for output."),
    ],
)
def test_names_must_be_those_of_losses(loss, weights, message):
    data = dict.fromkeys(("pairs", "other"), np.zeros((2, 1)))
    with pytest.raises(ValueError, match=message):
        OutputLosses(loss, weights).add(data, data, GlobalWeights(data, 2.0), False)


def weighted_mean_of_keras(loss, targets, outputs, weights):
    model = keras.Sequential([keras.Input(outputs.shape[1:]), keras.layers.Identity()])
    model.compile("sgd", loss)
    return model.evaluate(outputs, targets, sample_weight=weights, verbose=0)


def mean_of_the_batch(y_true, y_pred):
    return keras.ops.mean(keras.ops.abs(y_true - y_pred))


@pytest.mark.parametrize(
    ("loss", "targets", "outputs"),
    [
        ("mse", (7,), (7, 1)),
        (keras.losses.mean_absolute_error, (7, 5), (7, 5)),
        (keras.losses.binary_crossentropy, (7, 1), (7, 1)),
        (lambda y, other: keras.ops.max(y - other, axis=-1), (7, 3, 1), (7, 3)),
        (mean_of_the_batch, (7, 3), (7, 3)),
    ],
    ids=["name", "function", "columns", "lambda", "scalar"],
)
def test_functions_are_weighted_as_keras_does(loss, targets, outputs):
    draw = np.random.default_rng(5)
    targets, outputs = draw.random(targets, "float32"), draw.random(outputs, "float32")
    weights = draw.random(7, "float32") + 0.5
    # Keras divides by the number of examples, the step by their weights.
    expected = weighted_mean_of_keras(loss, targets, outputs, weights)
    received = weighted_sum(as_mean(loss), targets, outputs, weights / 7)
    assert float(received) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("reduction", ["sum", None])
def test_a_loss_that_is_not_a_mean_is_refused(reduction):
    with pytest.raises(ValueError, match=f"reduction={reduction!r}.*loss_weights"):
        as_mean(cross_entropy(reduction=reduction))


def draw(shape, num_classes=4):
    logits = DRAW.normal(0, 3, (*shape, num_classes)).astype("float32")
    return DRAW.integers(0, num_classes, shape), logits


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.625])
def test_same_as_keras_of_one_hot_targets(shape, smoothing):
    targets, logits = draw(shape)
    expected = keras.losses.CategoricalCrossentropy(
        from_logits=True, label_smoothing=smoothing
    )
    weights = DRAW.random(shape)
    received = SmoothedCrossentropy(smoothing)(targets, logits, weights)
    one_hot = np.eye(4, dtype="float32")[targets]
    assert float(received) == pytest.approx(
        float(expected(one_hot, logits, weights)), rel=1e-5
    )


NAN = float("nan")


@pytest.mark.parametrize(("smoothing", "share"), [(-0.1, 0.0), (1.0, 1.5), (NAN, NAN)])
def test_arguments_out_of_range(smoothing, share):
    with pytest.raises(ValueError, match=f"less than 1. .*smoothing={smoothing}"):
        SmoothedCrossentropy(smoothing)
    with pytest.raises(ValueError, match=f"at most 1. Received: share={share}"):
        HardestShare(cross_entropy(), share)


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("shape", [(30,), (7, 5)])
def test_the_largest_values_with_a_weight_are_kept(share, shape):
    values = DRAW.random(shape).astype("float32")
    weights = ((DRAW.random(shape) < 0.7) * DRAW.integers(1, 4, shape)).astype(
        "float32"
    )
    loss = HardestShare(cross_entropy(), share)
    found = np.array(loss.keep_hardest(values, weights))
    order = [i for i in np.argsort(-values, axis=None) if weights.flat[i] > 0]
    expected = np.zeros_like(weights)
    kept = order[: math.ceil(round(share * len(order), 6))]
    expected.flat[kept] = weights.flat[kept]
    expected *= weights.sum() / expected.sum()
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_equal_values_at_the_border_and_no_weight_at_all():
    values = np.array([1.0, 5.0, 1.0, 0.5, 9.0], "float32")
    weights, loss = (
        np.array([1, 1, 1, 1, 0], "float32"),
        HardestShare(cross_entropy(), 0.5),
    )
    found = np.array(loss.keep_hardest(values, weights))
    np.testing.assert_allclose(found, [4 / 3, 4 / 3, 4 / 3, 0, 0], rtol=1e-6)
    assert np.array(loss.keep_hardest(values, 0 * weights)).tolist() == [0] * 5


class Model(ExactTrainStep, keras.Model):
    """A model with one output by name."""


def make_model(loss, **options):
    features = keras.Input((4,))
    keras.utils.set_random_seed(5)
    model = Model(features, {"pairs": keras.layers.Dense(3, name="pairs")(features)})
    model.compile(keras.optimizers.SGD(0.5), {"pairs": loss}, **options)
    return model


@pytest.mark.parametrize(("micro_batches", "xla"), [(1, False), (2, True)])
def test_a_step_is_that_of_the_hardest_alone(tmp_path, micro_batches, xla):
    draw = np.random.default_rng(7)
    x, y = draw.normal(size=(12, 4)).astype("float32"), {"pairs": np.arange(12) % 3}
    hardest = make_model(
        HardestShare(cross_entropy(), 0.5), micro_batches=micro_batches, jit_compile=xla
    )
    chosen = make_model(cross_entropy())
    values = np.array(cross_entropy().call(y["pairs"], hardest(x)["pairs"]))
    # A micro-batch has every second row.
    parts = values.reshape(-1, micro_batches)
    is_hard = (parts >= np.sort(parts, axis=0)[len(parts) // 2]).ravel()
    # All are measured, the hardest half of each part trained on.
    assert hardest.evaluate(x, y, verbose=0) == pytest.approx(values.mean(), rel=1e-5)
    logs = hardest.train_on_batch(x, y, return_dict=True)
    assert logs["loss"] == pytest.approx(values[is_hard].mean(), rel=1e-5)
    chosen.train_on_batch(x[is_hard], {"pairs": y["pairs"][is_hard]})
    for one, other in zip(hardest.get_weights(), chosen.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    hardest.save(tmp_path / "model.keras")
    objects = {"Model": Model}
    again = keras.saving.load_model(tmp_path / "model.keras", custom_objects=objects)
    assert again.loss["pairs"].share == 0.5


def test_pairs_are_needed():
    message = "no effect with sentence_pairs=none. .*hardest_pairs=0.5"
    with pytest.raises(ValueError, match=message):
        PretrainingTask("none", hardest_pairs=0.5)


# === Weights as shares of the whole batch, and division of a batch in parts ===


def alone(values):
    return values


def test_each_target_is_divided_by_its_own_sum():
    targets = {"pieces": np.zeros((3, 4)), "pairs": np.zeros(3)}
    weights = {"pieces": np.array([[1.0, 1, 0, 0], [3, 0, 0, 0], [0] * 4])}
    shares = global_weights(targets, weights, alone)
    assert np.array(shares.weights["pieces"])[0] == pytest.approx([0.2, 0.2, 0, 0])
    assert np.array(shares.weights["pairs"]) == pytest.approx([1 / 3] * 3)
    # Rows count where any target has weight.
    assert float(shares.num_examples) == 3.0
    weights["pairs"] = np.array([0.0, 0.5, 0.0])
    assert float(global_weights(targets, weights, alone).num_examples) == 2.0


@pytest.mark.parametrize(
    ("shape", "weights", "expected"),
    [
        ((2,), [[2.0], [6.0]], [0.25, 0.75]),
        ((2, 1), [[2.0], [6.0]], [0.25, 0.75]),
        ((3,), [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
    ],
    ids=["column", "column of targets", "no weight"],
)
def test_shares_of_one_target(shape, weights, expected):
    shares = global_weights({"y": np.zeros(shape)}, np.array(weights), alone)
    assert np.array(shares.weights["y"]).tolist() == expected


def test_weights_without_a_target_are_refused():
    targets = {"mlm_logits": np.zeros((2, 3)), "sop_logits": np.zeros(2)}
    with pytest.raises(ValueError, match="weights mlm for mlm_logits, sop_logits"):
        global_weights(targets, {"mlm": np.ones((2, 3))}, alone)


def test_more_parts_than_rows_are_refused():
    with pytest.raises(ValueError, match="Received: 2 rows .* micro_batches=3"):
        split_batch(np.zeros((2, 7)), 3)
