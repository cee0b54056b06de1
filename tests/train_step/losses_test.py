"""Weighted sums of losses and functions; smoothed labels against Keras' one-hot ones."""

import keras
import numpy as np
import pytest

from albert_keras.train_step.losses import SmoothedCrossentropy, WeightedSumLoss

LABELS = np.array([[1, 4, 2], [0, 3, 3]])
LOGITS = np.random.default_rng(3).normal(size=(2, 3, 5))
DRAW = np.random.default_rng(3)
# Targets for sequences, and for tokens.
SHAPES = [(7,), (5, 3)]


def cross_entropy(**arguments):
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True, **arguments)


def test_weights_that_sum_to_one_give_the_weighted_mean():
    weights = np.array([[1.0, 0.0, 2.0], [3.0, 0.0, 0.0]])
    expected = cross_entropy(reduction="mean_with_sample_weight")(
        LABELS, LOGITS, sample_weight=weights
    )
    shares = weights / weights.sum()
    received = WeightedSumLoss(cross_entropy())(LABELS, LOGITS, sample_weight=shares)
    assert float(received) == pytest.approx(float(expected), rel=1e-6)
    assert received.dtype == "float64"


def test_values_are_averaged_within_an_example():
    received = WeightedSumLoss(cross_entropy())(
        LABELS, LOGITS, sample_weight=np.array([0.5, 0.5])
    )
    assert float(received) == pytest.approx(float(cross_entropy()(LABELS, LOGITS)))


def test_weights_may_be_a_column_as_the_targets_are():
    targets, values = np.array([[0.0], [0.0]]), np.array([[1.0], [4.0]])
    loss = WeightedSumLoss(keras.losses.MeanAbsoluteError())
    column = np.array([[0.75], [0.25]])
    for weights in (column, column[:, 0]):
        assert float(loss(targets, values, weights)) == 1.75


def test_half_precision_is_summed_in_float32():
    values = keras.ops.full((4096, 1), 0.25, dtype="bfloat16")
    loss = WeightedSumLoss(keras.losses.MeanAbsoluteError())
    weights = np.full(4096, 1 / 4096, "float32")
    assert float(loss(keras.ops.zeros((4096, 1)), values, weights)) == 0.25


def test_configuration_round_trip():
    loss = WeightedSumLoss(cross_entropy(name="pieces"))
    again = keras.losses.deserialize(keras.losses.serialize(loss))
    assert again.name == again.loss.name == "pieces"
    assert again.loss.get_config() == loss.loss.get_config()


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
    received = WeightedSumLoss(keras.losses.get(loss))(targets, outputs, weights / 7)
    assert float(received) == pytest.approx(expected, rel=1e-5)


def test_functions_are_saved_by_name():
    loss = WeightedSumLoss(keras.losses.mean_absolute_error)
    again = keras.losses.deserialize(keras.losses.serialize(loss))
    assert again.loss is keras.losses.mean_absolute_error
    assert again.name == "mean_absolute_error"


@pytest.mark.parametrize("reduction", ["sum", None])
def test_a_loss_that_is_not_a_mean_is_refused(reduction):
    with pytest.raises(ValueError, match=f"reduction={reduction!r}.*loss_weights"):
        WeightedSumLoss(cross_entropy(reduction=reduction))


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


def test_targets_may_be_a_column():
    targets, logits = draw((6,))
    loss = SmoothedCrossentropy(0.25)
    assert float(loss(targets[:, None], logits)) == float(loss(targets, logits))


def test_by_hand():
    # Class probabilities are 1/2, 1/4 and 1/4; the second class is the target.
    logits = np.log([[2.0, 1.0, 1.0]]).astype("float32")
    expected = 0.7 * np.log(4) + 0.3 * np.log([2.0, 4.0, 4.0]).mean()
    assert float(SmoothedCrossentropy(0.3)(np.array([1]), logits)) == pytest.approx(
        expected
    )


def test_the_smoothed_distribution_has_the_smallest_loss():
    chances = np.array([[0.05, 0.05, 0.9]], "float32")
    loss = SmoothedCrossentropy(0.15)
    least = float(loss(np.array([2]), np.log(chances)))
    for other in ([[0.05, 0.1, 0.85]], [[0.02, 0.03, 0.95]], [[0.01, 0.09, 0.9]]):
        assert float(loss(np.array([2]), np.log(np.float32(other)))) > least


def test_confident_logits_stay_finite():
    logits = np.array([[1e4, -1e4], [-1e4, 1e4]], "float32")
    assert float(SmoothedCrossentropy(0.1)(np.zeros(2), logits)) == pytest.approx(1e4)


def test_config_round_trip():
    loss = SmoothedCrossentropy(0.2, name="smooth")
    restored = keras.losses.deserialize(keras.losses.serialize(loss))
    assert isinstance(restored, SmoothedCrossentropy)
    assert (restored.label_smoothing, restored.name) == (0.2, "smooth")


@pytest.mark.parametrize("smoothing", [-0.1, 1.0, float("nan")])
def test_smoothing_out_of_range(smoothing):
    with pytest.raises(ValueError, match=f"less than 1. .*label_smoothing={smoothing}"):
        SmoothedCrossentropy(smoothing)
