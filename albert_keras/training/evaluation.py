"""Held-out scores that are not means over batches, such as correlations and F1."""

import keras

from albert_keras.checks import is_number
from albert_keras.keras_internals import sync_variables


class Evaluation(keras.callbacks.Callback):
    """Evaluates the model at the end of each epoch, in place of validation data.

    The numbers in the dict that `evaluate()` returns are added to the logs of the epoch
    as `val_*`, for all later callbacks.
    """

    def __init__(self, evaluate):
        super().__init__()
        self.evaluate = evaluate

    def on_epoch_end(self, epoch, logs=None):
        sync_variables(self.model)
        for name, value in self.evaluate().items():
            if is_number(value):
                logs[f"val_{name}"] = value
