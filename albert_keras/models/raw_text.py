"""Training and prediction on raw text, in memory or in batches."""

import keras
import numpy as np

from albert_keras.models import data_checks
from albert_keras.preprocessors.base import map_columns
from albert_keras.tokenizers.packing import trim_tensors


class FitsOnText:
    """Mixin of keras-hub's tasks: `fit`, `evaluate` and `predict` as those of Keras.

    keras-hub makes a `tf.data.Dataset` of text in memory, which Keras does not shuffle,
    and takes neither a `validation_split` of lists nor a `keras.utils.PyDataset`.
    Without a preprocessor, and for features, dicts with `token_ids`, the methods are
    those of `keras.Model`.
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
            x: With a preprocessor raw text, or else the model's inputs: lists, arrays or
                pandas Series, also in a tuple (pairs of texts) or a dict; or a
                `tf.data.Dataset` or `keras.utils.PyDataset` of batches, and without a
                preprocessor also a generator of them. Dicts with `token_ids` are not
                preprocessed. The preprocessor of the model tells which parts a row has;
                rows of several may also be a list of tuples.
            y, sample_weight: Lists or arrays, or dicts of them by output name; `None`
                where `x` gives them. Classes may be names, if the model has `labels`.
            batch_size: int or `None`. Default 32, for rows in memory.
            validation_data: `(x, y)` or `(x, y, sample_weight)`, or a dataset as `x`; for
                models that need no `y`, texts, or pairs as `((firsts, seconds),)`.
            validation_split: float in [0, 1). Share of the rows in memory, the last ones
                before shuffling, that are held out.
            shuffle: bool. Whether to shuffle all rows in memory, or the batches of a
                `PyDataset` without a preprocessor, before each epoch. On TensorFlow
                batches of text then have rows of similar length, and little padding. A
                `tf.data.Dataset` shuffles itself. Default True.

        Raises:
            ValueError: If the data are not batched, are text for a model without
                preprocessor, or if labels are no class ids of this model.
        """
        data = (*self._checked(x, y), sample_weight)
        validation_size = kwargs.get("validation_batch_size") or batch_size
        held_out = self._checked_tuple(validation_data)
        if validation_split and held_out is None and not self._takes_as_it_is(data[0]):
            from albert_keras.models.batches import split_rows

            data, held_out = split_rows(data, validation_split)
        x, y, sample_weight = self._for_keras(data, batch_size, shuffle, trains=True)
        return keras.Model.fit(
            self,
            x,
            y,
            batch_size=batch_size,
            sample_weight=sample_weight,
            validation_data=self._for_keras(held_out, validation_size),
            validation_split=0.0 if held_out else validation_split or 0.0,
            # Keras warns that it does not shuffle datasets.
            shuffle=shuffle and not hasattr(x, "element_spec"),
            **kwargs,
        )

    def evaluate(self, x=None, y=None, batch_size=None, sample_weight=None, **kwargs):
        """Returns loss and metrics on data as `fit` takes them; see `keras.Model`."""
        data = (*self._checked(x, y), sample_weight)
        x, y, sample_weight = self._for_keras(data, batch_size)
        return keras.Model.evaluate(
            self, x, y, batch_size, sample_weight=sample_weight, **kwargs
        )

    def predict(self, x=None, batch_size=None, **kwargs):
        """Returns the outputs for `x`, as `fit` takes it; see `keras.Model.predict`.

        On TensorFlow a classifier of texts pads them to the longest of their batch, which
        are texts of similar length; the outputs are in the order of `x`. Texts of one
        batch are predicted at once, without a progress bar. With `callbacks` or `steps`
        batches are in order, and go through Keras' loop.
        """
        x, _ = self._checked(x)
        if self._takes_as_it_is(x):
            return keras.Model.predict(self, _as_arrays(x), batch_size, **kwargs)
        # Imported here, since it needs TensorFlow, as preprocessors do.
        from albert_keras.models.batches import Rows, in_batches, is_in_memory

        data = (x, None, None)
        trims = self._on_tensorflow() and not self._has_token_outputs()
        if not is_in_memory(x):
            prepare = self._trimmed_features if trims else self.preprocess_samples
            return keras.Model.predict(self, in_batches(data, prepare), **kwargs)
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

    def train_on_batch(self, x, y=None, sample_weight=None, **kwargs):
        """Takes one training step on a batch; see `keras.Model.train_on_batch`."""
        batch = self._preprocess_batch(x, y, sample_weight)
        return keras.Model.train_on_batch(self, *batch, **kwargs)

    def test_on_batch(self, x, y=None, sample_weight=None, **kwargs):
        """Measures one batch; see `keras.Model.test_on_batch`."""
        batch = self._preprocess_batch(x, y, sample_weight)
        return keras.Model.test_on_batch(self, *batch, **kwargs)

    def _preprocess_batch(self, x, y, sample_weight):
        # keras-hub's own methods take no dicts of labels.
        samples = self.preprocess_samples(x, y, sample_weight)
        return _as_arrays(keras.utils.unpack_x_y_sample_weight(samples))

    def preprocess_samples(self, x, y=None, sample_weight=None):
        """Returns preprocessed samples; see `keras_hub.models.Task`."""
        data_checks.check_is_preprocessed(self, x)
        if data_checks.is_features(x):
            return keras.utils.pack_x_y_sample_weight(x, y, sample_weight)
        return super().preprocess_samples(x, y, sample_weight)

    def _with_types(self, x):
        """Returns `x`, but a `tf.data.Dataset` for a `PyDataset` of text."""
        if self.preprocessor is None or not isinstance(x, keras.utils.PyDataset):
            return x
        from albert_keras.models.batches import batches_of_py_dataset

        # Read once, since that may be slow.
        first_batch = x[0]
        if data_checks.is_features(data_checks.unpack(first_batch)[0]):
            return x
        return batches_of_py_dataset(x, first_batch)

    def check_input(self, x):
        """Raises a ValueError if the model cannot learn from `x`, checked columns."""

    def _checked(self, x, y=None):
        """Returns `x` as columns or batches, and `y` with class ids for names."""
        x, y = data_checks.columns_of(self, self._with_types(x), y)
        data_checks.check_data(self, x, y)
        return x, y

    def _checked_tuple(self, validation_data):
        if validation_data is None:
            return None
        x, y, sample_weight = data_checks.unpack(validation_data)
        return *self._checked(x, y), sample_weight

    def _for_keras(self, data, batch_size=None, shuffle=False, trains=False):
        """Returns `(x, y, sample_weight)`, or `None`, as `keras.Model` takes them."""
        if data is None or self._takes_as_it_is(data[0]):
            return _as_arrays(data)
        from albert_keras.models.batches import Rows, in_batches, is_in_memory

        if not is_in_memory(data[0]):
            return in_batches(data, self.preprocess_samples), None, None
        # The loss of a place among tokens, an answer's, depends on the padding: batches
        # that are measured all have the same.
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
        # Outputs of batches of different lengths would not fit in one array.
        return any(None in shape[1:] for shape in self._output_shapes())

    def _trimmed_features(self, *batch):
        samples = self.preprocess_samples(*batch)
        features, _, _ = keras.utils.unpack_x_y_sample_weight(samples)
        return trim_tensors(features)

    def _takes_as_it_is(self, x):
        # A `PyDataset` of text is a `tf.data.Dataset` by now.
        has_features = data_checks.is_features(x)
        is_py_dataset = isinstance(x, keras.utils.PyDataset)
        return self.preprocessor is None or has_features or is_py_dataset


def _as_arrays(data):
    """Returns nested tuples and dicts with arrays for lists and pandas Series."""

    def as_array(column):
        is_series = hasattr(column, "to_numpy")
        return np.asarray(column) if isinstance(column, list) or is_series else column

    return map_columns(as_array, data)
