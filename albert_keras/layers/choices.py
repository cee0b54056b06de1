"""Answers to choose from: each one a row of its own, and back."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="albert_keras")
class ChoicesToRows(keras.layers.Layer):
    """Puts the choices of all examples below each other.

    Input shape:
        `(batch, num_choices, sequence_length)`.

    Output shape:
        `(batch * num_choices, sequence_length)`.

    Example:

    >>> ChoicesToRows()(ops.ones((2, 3, 5), "int32")).shape[0]
    6
    """

    def call(self, x):
        return ops.reshape(x, (-1, ops.shape(x)[2]))


@keras.saving.register_keras_serializable(package="albert_keras")
class RowsToChoices(keras.layers.Layer):
    """Puts the scores of an example's choices beside each other.

    Input shape:
        Scores `(batch * num_choices, 1)`, and any tensor `(batch, num_choices, ...)`.

    Output shape:
        `(batch, num_choices)`.
    """

    def call(self, scores, choices):
        return ops.reshape(scores, (-1, ops.shape(choices)[1]))
