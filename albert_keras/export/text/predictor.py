"""Prediction of an exported model with the answers of its task."""

import re

import numpy as np
import tensorflow as tf

from albert_keras.checks import check_positive_integer
from albert_keras.export.text.kinds import TEXT_KINDS
from albert_keras.tasks import PreparedRows
from albert_keras.text import in_text_batches


class RowPredictor:
    """An exported model that answers samples as its run does.

    Subclasses have the `task`, and predict its rows by `predict_rows(rows, batch_size)`.
    """

    takes_pairs = takes_both = several_hold = False

    def predict(self, samples, batch_size=32):
        """Returns the answers that `load_run(...).predict` of the same model returns.

        Args:
            samples: List, as `LoadedModel.predict` takes it.
            batch_size: int. Samples of a batch, on average.

        Returns:
            List of dicts, one a sample.
        """
        check_positive_integer("batch_size", batch_size)
        rows = self.task.rows_of(samples)
        predictions = self.predict_rows(rows, batch_size)
        return self.task.describe(PreparedRows(rows, None), predictions)


class TaskPredictor(RowPredictor):
    """An exported model loaded for prediction: samples in, the answers of its task out.

    Args:
        description: Dict, the content of `TASK_FILE`.
        run: Function from columns of str, or of lists of str, and a batch size to a dict
            of NumPy arrays `(num_rows, ...)`: `BatchedSignature`.
    """

    def __init__(self, description, run):
        options = {**description}
        self.description = description
        self.kind = TEXT_KINDS[options.pop("kind")]
        self.task = self.kind.task(**options)
        self.labels = getattr(self.task, "labels", None)
        self.run = run

    def predict_rows(self, rows, batch_size):
        """Returns predictions for rows of the task, as its own `predict` does."""
        columns = self.kind.columns(rows)
        outputs = self.run(columns, batch_size)
        return self.kind.predictions(self.task, rows, outputs)


class BatchedSignature:
    """A signature of strings, called with batches of rows of similar length.

    Args:
        loaded: SavedModel.
        name: str. Name of the signature.
        inputs: Tuple of str. Names of its inputs.
    """

    def __init__(self, loaded, name, inputs):
        self.loaded, self.inputs = loaded, inputs
        self.signature = loaded.signatures[name]

    def __call__(self, columns, batch_size):
        """Returns a dict of NumPy arrays `(num_rows, ...)`."""
        return in_text_batches(self._call, columns, batch_size)

    def _call(self, columns):
        tensors = {
            name: _as_tensor(column)
            for name, column in zip(self.inputs, columns, strict=True)
        }
        try:
            outputs = self.signature(**tensors)
        except tf.errors.InvalidArgumentError as error:
            # Of a `require`, without the names of operations around it.
            failed = re.search(r"assertion failed: (.*)", error.message)
            if failed is None:
                raise
            raise ValueError(failed[1]) from error
        return {name: as_array(value) for name, value in outputs.items()}


def as_array(tensor):
    """Returns a NumPy array, of str for a tensor of strings."""
    array = tensor.numpy()
    if tensor.dtype != tf.string:
        return array
    decoded = [value.decode() for value in array.ravel().tolist()]
    return np.array(decoded, dtype=str).reshape(array.shape)


def _as_tensor(column):
    if isinstance(column[0], str):
        return tf.constant(column, tf.string)
    return tf.ragged.constant(column, tf.string, ragged_rank=1).to_tensor()
