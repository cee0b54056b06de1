"""Training and prediction on raw text, from every kind of data that Keras takes."""

import keras
import numpy as np

from albert_keras.models.data_checks import (
    check_data,
    check_is_preprocessed,
    is_features,
)


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
                preprocessed.
            y, sample_weight: Lists or arrays, or dicts of them by output name; `None`
                where `x` gives them.
            batch_size: int or `None`. Default 32, for rows in memory.
            validation_data: `(x, y)` or `(x, y, sample_weight)`, or what else `x` may be.
            validation_split: float in [0, 1). Share of the rows in memory, the last ones
                before shuffling, that are held out.
            shuffle: bool. Whether to shuffle all rows in memory, or the batches of a
                `PyDataset` without a preprocessor, before each epoch. A
                `tf.data.Dataset` shuffles itself. Default True.

        Raises:
            ValueError: If the data are not batched, are text for a model without
                preprocessor, or if labels are no class ids of this model.
        """
        check_data(self, x, y)
        if self._takes_as_it_is(x):
            return keras.Model.fit(
                self,
                *_as_arrays((x, y)),
                batch_size=batch_size,
                sample_weight=_as_arrays(sample_weight),
                validation_data=_as_arrays(validation_data),
                validation_split=validation_split or 0.0,
                # Keras warns that it does not shuffle datasets.
                shuffle=shuffle and not hasattr(x, "element_spec"),
                **kwargs,
            )
        # Imported here, since it needs TensorFlow, as preprocessors do.
        from albert_keras.models.batches import in_batches, split_rows

        rows = (x, y, sample_weight)
        if validation_split and validation_data is None:
            rows, validation_data = split_rows(rows, validation_split)
        if validation_data is not None:
            held_out = keras.utils.unpack_x_y_sample_weight(validation_data)
            check_data(self, *held_out[:2])
            validation_size = kwargs.pop("validation_batch_size", None) or batch_size
            validation_data = in_batches(held_out, validation_size)
        return super().fit(
            in_batches(rows, batch_size, shuffle),
            validation_data=validation_data,
            shuffle=False,
            **kwargs,
        )

    def evaluate(self, x=None, y=None, batch_size=None, sample_weight=None, **kwargs):
        """Returns loss and metrics on data as `fit` takes them; see `keras.Model`."""
        check_data(self, x, y)
        if self._takes_as_it_is(x):
            x, y, sample_weight = _as_arrays((x, y, sample_weight))
            return keras.Model.evaluate(
                self, x, y, batch_size, sample_weight=sample_weight, **kwargs
            )
        from albert_keras.models.batches import in_batches

        return super().evaluate(in_batches((x, y, sample_weight), batch_size), **kwargs)

    def predict(self, x=None, batch_size=None, **kwargs):
        """Returns the outputs for `x`, as `fit` takes it; see `keras.Model.predict`."""
        check_data(self, x)
        if self._takes_as_it_is(x):
            return keras.Model.predict(self, _as_arrays(x), batch_size, **kwargs)
        from albert_keras.models.batches import in_batches

        return super().predict(in_batches((x, None, None), batch_size), **kwargs)

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
        check_is_preprocessed(self, x)
        if is_features(x):
            return keras.utils.pack_x_y_sample_weight(x, y, sample_weight)
        return super().preprocess_samples(x, y, sample_weight)

    def _takes_as_it_is(self, x):
        return self.preprocessor is None or is_features(x)


def _as_arrays(data):
    """Returns nested tuples and dicts with arrays for lists and pandas Series."""
    if isinstance(data, dict):
        return {name: _as_arrays(value) for name, value in data.items()}
    if isinstance(data, tuple):
        return tuple(_as_arrays(value) for value in data)
    is_series = hasattr(data, "to_numpy")
    return np.asarray(data) if isinstance(data, list) or is_series else data
