"""Classes of a model: their names, and whether several of them may hold."""

import collections.abc

import keras

from albert_keras.checks import shortened


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


def is_regression(model):
    """Returns whether a model gives one number for each text."""
    return getattr(model, "num_classes", None) == 1 and len(model.output.shape) == 2


def has_classes(model):
    """Returns whether a model classifies texts or tokens; regression does not."""
    return hasattr(model, "num_classes") and not is_regression(model)


def activation_of(model):
    """Returns the function that a model applies to its logits."""
    return getattr(model, "activation", keras.activations.linear)


def is_multi_label(model):
    """Returns whether several classes may hold: the activation says so, or the loss."""
    loss = getattr(model, "loss", None)
    is_binary = isinstance(loss, keras.losses.BinaryCrossentropy)
    is_binary = is_binary or loss is keras.losses.binary_crossentropy
    return activation_of(model) is keras.activations.sigmoid or is_binary
