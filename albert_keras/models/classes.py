"""Classes of a model: their names, and the losses and accuracies that fit them."""

import collections.abc

import keras
from keras import losses, metrics

from albert_keras.checks import shortened

# By the functions of losses, which Keras' loss objects have as `fn`.
ACCURACIES = {
    losses.sparse_categorical_crossentropy: metrics.SparseCategoricalAccuracy,
    losses.categorical_crossentropy: metrics.CategoricalAccuracy,
    losses.binary_crossentropy: metrics.BinaryAccuracy,
}


def check_labels(labels, num_classes):
    """Returns the names of a model's classes as a tuple, or `None` if there are none.

    Raises:
        ValueError: If there is not one name, a str of one line, for each class.
    """
    if labels is None:
        return None
    if not are_labels(labels, num_classes):
        raise ValueError(
            f"`labels` must be {num_classes} different strings of one line, one "
            f"a class of the model. Received: labels={shortened(repr(labels))}."
        )
    return tuple(labels)


def are_labels(labels, num_classes):
    """Returns whether there is one name, a str of one line, for each class."""
    are_names = isinstance(labels, collections.abc.Iterable) and all(
        isinstance(label, str) and label.splitlines() == [label] for label in labels
    )
    return are_names and len(labels) == len(set(labels)) == num_classes


def is_multi_label(model):
    """Returns whether several classes may hold: the activation says so, or the loss."""
    is_binary = _accuracy_class(getattr(model, "loss", None)) is metrics.BinaryAccuracy
    return model.activation is keras.activations.sigmoid or is_binary


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
    return ACCURACIES.get(getattr(loss, "fn", loss))
