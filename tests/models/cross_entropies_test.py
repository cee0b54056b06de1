"""Default accuracy of each cross-entropy, by hand."""

import keras
import numpy as np
import pytest
from keras import losses

from albert_keras.models.cross_entropies import (
    accuracy_of,
    reads_logits,
    takes_class_ids,
)
from albert_keras.train_step.losses import SmoothedCrossentropy

LOGITS = np.array([[2.0, -1.0, 0.3], [-3.0, 0.2, 0.1]])
PROBABILITIES = 1 / (1 + np.exp(-LOGITS))
CLASS_IDS = np.array([0, 2])
SEVERAL = np.array([[1, 0, 0], [0, 1, 0]])


@pytest.mark.parametrize(
    ("loss", "targets", "outputs", "expected"),
    [
        (losses.SparseCategoricalCrossentropy(), CLASS_IDS, LOGITS, 1 / 2),
        ("sparse_categorical_crossentropy", CLASS_IDS, LOGITS, 1 / 2),
        (SmoothedCrossentropy(0.1), CLASS_IDS, LOGITS, 1 / 2),
        ("categorical_crossentropy", SEVERAL, LOGITS, 1.0),
        (losses.BinaryCrossentropy(), SEVERAL, PROBABILITIES, 4 / 6),
        (losses.BinaryCrossentropy(from_logits=True), SEVERAL, LOGITS, 4 / 6),
    ],
)
def test_the_accuracy_fits_the_loss(loss, targets, outputs, expected):
    (accuracy,) = accuracy_of(loss)
    assert accuracy.name == "accuracy"
    again = keras.metrics.deserialize(keras.metrics.serialize(accuracy))
    for each in (accuracy, again):
        each.update_state(targets, outputs)
        assert float(each.result()) == pytest.approx(expected)
    assert takes_class_ids(loss) == (targets is CLASS_IDS)


def own_loss(y_true, y_pred):
    return keras.ops.mean(y_true - y_pred, axis=-1)


@pytest.mark.parametrize("loss", ["mse", losses.Huber(), own_loss, None])
def test_other_losses_have_no_accuracy(loss):
    assert accuracy_of(loss) == []
    assert reads_logits(loss) is None
    assert not takes_class_ids(loss)


def test_logits_are_read_on_request():
    assert reads_logits(losses.BinaryCrossentropy(from_logits=True)) is True
    assert reads_logits(SmoothedCrossentropy(0.1)) is True
    assert reads_logits(losses.CategoricalCrossentropy()) is False
    assert reads_logits("binary_crossentropy") is False
