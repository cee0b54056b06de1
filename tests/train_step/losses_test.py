"""The sum of weighted values, where weights are shares of a batch."""

import keras
import numpy as np
import pytest

from albert_keras.train_step.losses import WeightedSumLoss

LABELS = np.array([[1, 4, 2], [0, 3, 3]])
LOGITS = np.random.default_rng(3).normal(size=(2, 3, 5))


def cross_entropy(**arguments):
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True, **arguments)


def test_shares_of_one_give_the_weighted_mean():
    weights = np.array([[1.0, 0.0, 2.0], [3.0, 0.0, 0.0]])
    expected = cross_entropy(reduction="mean_with_sample_weight")(
        LABELS, LOGITS, sample_weight=weights
    )
    shares = weights / weights.sum()
    received = WeightedSumLoss(cross_entropy())(LABELS, LOGITS, sample_weight=shares)
    assert float(received) == pytest.approx(float(expected), rel=1e-6)
    assert received.dtype == "float64"


def test_weights_of_examples_mean_over_what_is_in_them():
    received = WeightedSumLoss(cross_entropy())(
        LABELS, LOGITS, sample_weight=np.array([0.5, 0.5])
    )
    assert float(received) == pytest.approx(float(cross_entropy()(LABELS, LOGITS)))


def test_columns_of_targets_and_weights_go_together():
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


@pytest.mark.parametrize("reduction", ["sum", None])
def test_a_loss_that_is_no_mean_is_refused(reduction):
    with pytest.raises(ValueError, match=f"reduction={reduction!r}.*loss_weights"):
        WeightedSumLoss(cross_entropy(reduction=reduction))
