"""`fit`, `evaluate` and `predict` of task models on raw text."""

import keras
import numpy as np

from albert_keras.models.batches import Rows, in_batches, split_rows
from albert_keras.models.data_checks import (
    check_data,
    check_is_preprocessed,
    holds_rows,
    is_features,
    is_ready,
    unpack,
)
from albert_keras.preprocessors.base import map_columns


class FitsOnText:
    """Mixin of keras-hub's tasks: Keras' `fit`, `evaluate` and `predict`, for raw text.

    keras-hub makes a `tf.data.Dataset` of text in memory, which Keras does not shuffle.
    It takes neither a `validation_split` of lists nor a `keras.utils.PyDataset`. Without
    a preprocessor, and for features (dicts with `token_ids`), the methods are those of
    `keras.Model`.
    """

    def fit(
        self,
        x=None,
        y=None,
        batch_size=None,
        sample_weight=None,
        validation_data=None,
        validation_split=None,
        *,
        shuffle=True,
        **kwargs,
    ):
        """Trains the model; see `keras.Model.fit`, which has the other arguments.

        Args:
            x: Raw text, or without a preprocessor the model's inputs: lists, arrays or
                pandas Series, also in a tuple (pairs of texts) or a dict; or a
                `tf.data.Dataset` or `keras.utils.PyDataset` of batches. Without a
                preprocessor it may also be a generator of batches. Dicts with
                `token_ids` are not preprocessed. The model's preprocessor documents the
                parts of a row; rows of several parts may also be a list of tuples.
            y, sample_weight: Lists or arrays, or dicts of them by output name; `None`
                if `x` is a dataset. Classes may be names, if the model has `labels`.
            batch_size: int or `None`. Default 32, for rows in memory.
            validation_data: `(x, y)` or `(x, y, sample_weight)`, or a dataset. For models
                without `y`: texts, or pairs as `((firsts, seconds),)`.
            validation_split: float in [0, 1). Share of the rows in memory, the last ones
                before shuffling, that are held out.
            shuffle: bool. Whether to shuffle all rows in memory, or the batches of a
                `PyDataset` without a preprocessor, before each epoch. On TensorFlow
                batches of text then have rows of similar length, and little padding. A
                `tf.data.Dataset` shuffles itself. Default True.

        Raises:
            ValueError: If a dataset is not batched, if the model needs a preprocessor and
                has none, or if a label is not a class of the model.
        """
        data, held_out = check_data(self, x, y, sample_weight), None
        if validation_data is not None:
            held_out = check_data(self, *unpack(validation_data))
        elif validation_split and holds_rows(self, x):
            data, held_out = split_rows(data, validation_split)
        x, y, sample_weight = self._for_keras(data, batch_size, shuffle, trains=True)
        validation_size = kwargs.get("validation_batch_size") or batch_size
        return keras.Model.fit(
            self,
            x,
            y,
            batch_size=batch_size,
            sample_weight=sample_weight,
            validation_data=held_out and self._for_keras(held_out, validation_size),
            validation_split=0.0 if held_out else validation_split or 0.0,
            # Keras warns that it does not shuffle datasets.
            shuffle=shuffle and not hasattr(x, "element_spec"),
            **kwargs,
        )

    def evaluate(self, x=None, y=None, batch_size=None, sample_weight=None, **kwargs):
        """Returns loss and metrics of data as for `fit`; see `keras.Model.evaluate`."""
        data = check_data(self, x, y, sample_weight)
        x, y, sample_weight = self._for_keras(data, batch_size)
        return keras.Model.evaluate(
            self, x, y, batch_size, sample_weight=sample_weight, **kwargs
        )

    def predict(self, x=None, batch_size=None, **kwargs):
        """Returns the outputs for `x`, as for `fit`; see `keras.Model.predict`.

        On TensorFlow the batches of a text classifier hold texts of similar length,
        padded to the longest; the outputs are in the order of `x`. Texts that fit in one
        batch are predicted without a progress bar. With `callbacks` or `steps`, batches
        are in order and go through Keras' loop.
        """
        data = check_data(self, x)
        if not holds_rows(self, x):
            x, *_ = self._for_keras(data)
            return keras.Model.predict(self, x, batch_size, **kwargs)
        trims = self._on_tensorflow() and not self._has_token_outputs()
        rows = Rows(data, self.preprocess_samples, trims)
        batch_size = batch_size or 32
        order, is_plain = np.arange(rows.num_rows), not kwargs.keys() - {"verbose"}
        # Several replicas would each predict all rows.
        if is_plain and rows.num_rows <= batch_size and self.num_replicas == 1:
            return keras.Model.predict_on_batch(self, rows.prepared(order)[0])
        if is_plain:
            order = np.argsort(rows.lengths, kind="stable")
        batches = rows.delivered(batch_size, order, lengths=())
        outputs = keras.Model.predict(self, batches, **kwargs)
        places = np.argsort(order)
        return keras.tree.map_structure(lambda rows: rows[places[: len(rows)]], outputs)

    # keras-hub's own methods take no dicts of labels.

    def train_on_batch(self, x, y=None, sample_weight=None, **kwargs):
        """Trains on a batch, text too; see `keras.Model.train_on_batch`."""
        batch = self._prepared_batch(x, y, sample_weight)
        return keras.Model.train_on_batch(self, *batch, **kwargs)

    def test_on_batch(self, x, y=None, sample_weight=None, **kwargs):
        """Evaluates a batch, text too; see `keras.Model.test_on_batch`."""
        batch = self._prepared_batch(x, y, sample_weight)
        return keras.Model.test_on_batch(self, *batch, **kwargs)

    def _prepared_batch(self, *data):
        samples = self.preprocess_samples(*check_data(self, *data))
        return _as_arrays(keras.utils.unpack_x_y_sample_weight(samples))

    def preprocess_samples(self, x, y=None, sample_weight=None):
        """Returns preprocessed samples; see `keras_hub.models.Task`."""
        check_is_preprocessed(self, x)
        if is_features(x):
            return keras.utils.pack_x_y_sample_weight(x, y, sample_weight)
        return super().preprocess_samples(x, y, sample_weight)

    def _for_keras(self, data, batch_size=None, shuffle=False, trains=False):
        """Returns the tuple `(x, y, sample_weight)` for `keras.Model`."""
        x, *others = data
        if is_ready(self, x):
            return _as_arrays(data)
        if not holds_rows(self, x):
            # Keras refuses labels and weights beside a dataset.
            return in_batches(x, self.preprocess_samples), *others
        # The loss of a position, such as an answer's start, depends on the padding. All
        # batches of an evaluation have the same padding then.
        finds_places = any(shape[-1] is None for shape in self._output_shapes())
        trims = self._on_tensorflow() and (trains or not finds_places)
        rows = Rows(data, self.preprocess_samples, trims, self._has_token_outputs())
        return rows.delivered(batch_size or 32, shuffle=shuffle), None, None

    def _on_tensorflow(self):
        # Other backends compile a program for each length.
        return keras.config.backend() == "tensorflow"

    def _output_shapes(self):
        return [output.shape for output in keras.tree.flatten(self.output)]

    def _has_token_outputs(self):
        # Batches of different lengths have outputs that do not fit in one array.
        return any(None in shape[1:] for shape in self._output_shapes())


def _as_arrays(data):
    """Returns nested tuples and dicts, with arrays in place of lists and Series."""

    def as_array(column):
        is_series = hasattr(column, "to_numpy")
        return np.asarray(column) if isinstance(column, list) or is_series else column

    return map_columns(as_array, data)
