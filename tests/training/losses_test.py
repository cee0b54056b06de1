"""The global mean on one device; `trainer_test` holds it on two."""

import keras
import numpy as np

from albert_keras.training import GlobalMeanLoss

CROSS_ENTROPY = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def test_equals_the_weighted_mean_by_hand():
    logits = np.array([[[2.0, 0.0, 1.0]] * 2, [[0.0, 3.0, 0.0]] * 2], "float32")
    labels = np.array([[0, 1], [1, 2]])
    weights = np.array([[1.0, 0.0], [2.0, 5.0]], "float32")
    log_probs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    picked = np.take_along_axis(log_probs, labels[..., None], -1)[..., 0]
    expected = -(picked * weights).sum() / weights.sum()
    loss = GlobalMeanLoss(CROSS_ENTROPY)(labels, logits, sample_weight=weights)
    assert np.isclose(float(loss), expected, rtol=1e-6)


def test_no_weight_at_all_is_zero_not_nan():
    logits, labels = np.ones((3, 5), "float32"), np.zeros(3, "int32")
    loss = GlobalMeanLoss(CROSS_ENTROPY)(labels, logits, sample_weight=np.zeros(3))
    assert float(loss) == 0.0


def test_half_precision_is_summed_in_float32():
    values = np.full((4099, 1), 3.0, "float16")
    loss = GlobalMeanLoss(keras.losses.MeanAbsoluteError())(values * 0, values)
    assert float(loss) == 3.0


def test_config_round_trip():
    loss = GlobalMeanLoss(CROSS_ENTROPY)
    config = keras.losses.serialize(loss)
    again = keras.losses.deserialize(config)
    assert again.loss.get_config() == CROSS_ENTROPY.get_config()
