"""Accuracy and kind of output that match a cross-entropy."""

import keras
from keras import losses, metrics

from albert_keras.train_step.losses import SmoothedCrossentropy

ACCURACIES = {
    losses.SparseCategoricalCrossentropy: metrics.SparseCategoricalAccuracy,
    losses.sparse_categorical_crossentropy: metrics.SparseCategoricalAccuracy,
    SmoothedCrossentropy: metrics.SparseCategoricalAccuracy,
    losses.CategoricalCrossentropy: metrics.CategoricalAccuracy,
    losses.categorical_crossentropy: metrics.CategoricalAccuracy,
    losses.BinaryCrossentropy: metrics.BinaryAccuracy,
    losses.binary_crossentropy: metrics.BinaryAccuracy,
}


def accuracy_of(loss):
    """Returns a list with the accuracy that fits a loss, empty where none does.

    Args:
        loss: Keras loss, function, name or `None`.

    Example:

    >>> accuracy_of("mse")
    []
    """
    accuracy = _accuracy_class(loss)
    if accuracy is metrics.BinaryAccuracy:
        threshold = 0.0 if reads_logits(loss) else 0.5
        return [accuracy(name="accuracy", threshold=threshold)]
    return [accuracy(name="accuracy")] if accuracy else []


def reads_logits(loss):
    """Returns whether a loss takes logits, or `None` if it is no known cross-entropy."""
    if _accuracy_class(loss) is None:
        return None
    return getattr(keras.losses.get(loss), "from_logits", False)


def takes_class_ids(loss):
    """Returns whether the targets of a loss are integer class ids."""
    return _accuracy_class(loss) is metrics.SparseCategoricalAccuracy


def _accuracy_class(loss):
    loss = keras.losses.get(loss)
    kind = type(loss) if isinstance(loss, losses.Loss) else loss
    return ACCURACIES.get(kind)
