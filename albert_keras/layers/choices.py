"""Layers that turn the choices of multiple-choice examples into rows and back."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="albert_keras")
class ChoicesToRows(keras.layers.Layer):
    """Makes one row of each choice of each example.

    Input shape:
        `(batch, num_choices, sequence_length)`.

    Output shape:
        `(batch * num_choices, sequence_length)`.
    """

    def call(self, x):
        return ops.reshape(x, (-1, ops.shape(x)[2]))


@keras.saving.register_keras_serializable(package="albert_keras")
class RowsToChoices(keras.layers.Layer):
    """Puts the scores of each example's choices back into one row.

    Input shape:
        Scores `(batch * num_choices, 1)`, and any tensor `(batch, num_choices, ...)`.

    Output shape:
        `(batch, num_choices)`.
    """

    def call(self, scores, choices):
        return ops.reshape(scores, (-1, ops.shape(choices)[1]))
