"""Held-out scores that are no means over batches, such as correlations and F1."""

import keras

from albert_keras.checks import is_number
from albert_keras.keras_internals import sync_variables


class Evaluation(keras.callbacks.Callback):
    """Measures the model at the end of each epoch, as validation data would.

    Args:
        evaluate: Function without arguments that returns a dict; its numbers go into
            the logs of the epoch as `val_*`, for all callbacks that come later.
    """

    def __init__(self, evaluate):
        super().__init__()
        self.evaluate = evaluate

    def on_epoch_end(self, epoch, logs=None):
        sync_variables(self.model)
        for name, value in self.evaluate().items():
            if is_number(value):
                logs[f"val_{name}"] = value
