"""The hardest share of a batch: against NumPy, with equal values, and in a step."""

import math

import keras
import numpy as np
import pytest

from albert_keras.pretraining import PretrainingTask
from albert_keras.train_step import ExactTrainStep, HardestShare
from albert_keras.train_step.hardest import keep_hardest
from albert_keras.train_step.weights import join_parts, split_batch


def alone(values):
    return values


def cross_entropy():
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("shape", [(30,), (7, 5)])
def test_the_largest_values_with_a_weight_are_kept(share, shape):
    draw = np.random.default_rng(3)
    values = draw.random(shape).astype("float32")
    weights = (draw.random(shape) < 0.7) * draw.integers(1, 4, shape).astype("float32")
    found = np.array(keep_hardest(values, weights, share, alone))
    order = [i for i in np.argsort(-values, axis=None) if weights.flat[i] > 0]
    expected = np.zeros_like(weights)
    kept = order[: math.ceil(round(share * len(order), 6))]
    expected.flat[kept] = weights.flat[kept]
    np.testing.assert_array_equal(found, expected)


def test_a_tenth_of_thirty_is_three():
    values = np.arange(30, dtype="float32")
    found = np.array(keep_hardest(values, np.ones(30, "float32"), 0.1, alone))
    assert np.flatnonzero(found).tolist() == [27, 28, 29]


def test_equal_values_at_the_border_share_what_is_left():
    values = np.array([1.0, 5.0, 1.0, 0.5, 1.0, 1.0], "float32")
    weights = np.array([1, 1, 1, 1, 0, 1], "float32")
    found = np.array(keep_hardest(values, weights, 0.5, alone))
    # Three of five: the largest one, and two for the three that are equal.
    np.testing.assert_allclose(found, [2 / 3, 1, 2 / 3, 0, 0, 2 / 3], rtol=1e-6)


def test_values_of_other_replicas_count():
    values, weights = np.array([2.0, 3.0], "float32"), np.ones(2, "float32")
    # As if another replica had the same values.
    found = keep_hardest(values, weights, 0.75, lambda sums: [2 * s for s in sums])
    assert np.array(found).tolist() == [0.5, 1]


def test_without_any_weight_nothing_is_kept():
    values, weights = np.ones(3, "float32"), np.zeros(3, "float32")
    assert np.array(keep_hardest(values, weights, 0.5, alone)).tolist() == [0, 0, 0]


def test_parts_are_joined_in_the_order_of_the_batch():
    batch = {"a": np.arange(7), "b": np.arange(14).reshape(7, 2)}
    joined = join_parts(split_batch(batch, 3))
    for name, values in batch.items():
        np.testing.assert_array_equal(joined[name], values)


class Model(ExactTrainStep, keras.Model):
    """A model with one output by name."""


def make_model(loss):
    features = keras.Input((4,))
    keras.utils.set_random_seed(5)
    model = Model(features, {"pairs": keras.layers.Dense(3, name="pairs")(features)})
    model.compile(keras.optimizers.SGD(0.5), {"pairs": loss})
    return model


def test_a_step_is_that_of_the_hardest_alone(tmp_path):
    draw = np.random.default_rng(7)
    x, y = draw.normal(size=(9, 4)).astype("float32"), {"pairs": np.arange(9) % 3}
    hardest, chosen = (
        make_model(loss)
        for loss in (HardestShare(cross_entropy(), 0.5), cross_entropy())
    )
    values = np.array(cross_entropy().call(y["pairs"], hardest(x)["pairs"]))
    is_hard = values >= np.sort(values)[4]
    # All are measured, the five hardest trained on.
    assert hardest.evaluate(x, y, verbose=0) == pytest.approx(values.mean(), rel=1e-5)
    logs = hardest.train_on_batch(x, y, return_dict=True)
    assert logs["loss"] == pytest.approx(values[is_hard].mean(), rel=1e-5)
    chosen.train_on_batch(x[is_hard], {"pairs": y["pairs"][is_hard]})
    for one, other in zip(hardest.get_weights(), chosen.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    hardest.save(tmp_path / "model.keras")
    objects = {"Model": Model}
    again = keras.saving.load_model(tmp_path / "model.keras", custom_objects=objects)
    assert again.loss["pairs"].loss.share == 0.5


@pytest.mark.parametrize("share", [0.0, 1.5, float("nan")])
def test_share_out_of_range(share):
    with pytest.raises(ValueError, match=f"at most 1. Received: share={share}"):
        HardestShare(cross_entropy(), share)


def test_pairs_are_needed():
    with pytest.raises(ValueError, match="no effect without .* hardest_pairs=0.5"):
        PretrainingTask("none", hardest_pairs=0.5)
