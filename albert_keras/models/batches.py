"""Batches of text from every kind of data."""

import functools

import keras
import numpy as np
import tensorflow as tf
from keras import tree

from albert_keras.checks import check_text
from albert_keras.preprocessors.base import as_lists, dense, map_columns
from albert_keras.text.delivery import deliver
from albert_keras.text.length_buckets import LENGTHS, shuffled_batches


def in_batches(data, prepare):
    """Returns the prepared batches of data that are not in memory, as a dataset.

    Args:
        data: Tuple `(source, None, None)`, where `source` is a `tf.data.Dataset`.
        prepare: Function from these parts of a batch, as `Preprocessor`, in a graph.

    Raises:
        ValueError: If `y` or `sample_weight` come with it, and for generators.
    """
    x, *others = data
    if any(other is not None for other in others):
        raise ValueError(
            "A dataset must give `y` and `sample_weight` itself, with `x` in each batch. "
            f"Received: x of type {type(x).__name__}, and y or sample_weight."
        )
    if not hasattr(x, "element_spec"):
        raise ValueError(
            "Text must come from data that can be read again. Received: a "
            f"{type(x).__name__}. Pass lists, a `keras.utils.PyDataset`, or "
            "`tf.data.Dataset.from_generator`."
        )
    return x.map(prepare, tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)


class Rows:
    """Rows in memory, of which Python code prepares batches, on any backend.

    TensorFlow's pipelines would trace a graph for each call of `fit` or `predict`, and
    for each new length.

    Args:
        data: Tuple `(x, y, sample_weight)` of rows: nested tuples and dicts of lists and
            arrays, or `None`.
        prepare: Function from these parts of a batch to a tuple of features and, if there
            are any, labels and weights, as `Preprocessor` returns them.
        trims: bool. Whether batches are padded to their own lengths, rather than to that
            of the preprocessor.
        by_token: bool. Whether labels and weights may have an axis of tokens.

    Raises:
        ValueError: If rows differ in number, or are none; if there are weights alone.
    """

    def __init__(self, data, prepare, trims, by_token=False):
        tensors = map_columns(_as_tensor, data)
        self.num_rows = _number_of_rows(tensors)
        if data[1] is None and data[2] is not None:
            # Keras would ignore them.
            raise ValueError(
                "`sample_weight` must come with `y`. Received: weights without labels. "
                "Leave them out."
            )
        x, *others = tensors
        self._columns = (as_lists(x), *(map_columns(_as_array, y) for y in others))
        self._prepare, self._trims, self._by_token = prepare, trims, by_token

    @functools.cached_property
    def lengths(self):
        """Tokens of the rows, int `(num_rows,)`; all 0 if that makes no difference."""
        if not self._trims:
            return np.zeros(self.num_rows, int)
        parts = np.array_split(np.arange(self.num_rows), -(-self.num_rows // 256))
        return np.concatenate([_ends(self._whole(rows)) for rows in parts])

    def prepared(self, rows, lengths=()):
        """Returns features, labels and weights of some rows, arrays in a tuple.

        Args:
            rows: int array `(batch,)`.
            lengths: Ascending lengths, of which a batch is padded to the shortest that is
                enough. Default: as long as the longest of its rows.
        """
        batch = self._whole(rows)
        if not self._trims:
            return batch
        longest = _ends(batch).max()
        length = next((each for each in lengths if each >= longest), longest)
        shape = batch[0]["padding_mask"].shape

        def trim(leaf):
            return leaf[..., :length] if leaf.shape == shape else leaf

        num_parts = 3 if self._by_token else 1
        return *tree.map_structure(trim, batch[:num_parts]), *batch[num_parts:]

    def delivered(self, batch_size, order=None, shuffle=False, lengths=LENGTHS):
        """Returns a dataset of prepared batches, for Keras.

        Args:
            batch_size: int. Rows of each batch but the last.
            order: int array `(num_rows,)`. Default: as the rows are.
            shuffle: bool. Whether each epoch has a new order, with rows of similar length
                in a batch. Default False.
            lengths: As for `prepared`. Few lengths, where a step is compiled for each.
        """
        order = np.arange(self.num_rows) if order is None else order
        starts = range(0, self.num_rows, batch_size)
        batches = [order[start : start + batch_size] for start in starts]
        if shuffle:
            random = np.random.default_rng(np.random.randint(2**31))
            draw = functools.partial(shuffled_batches, self.lengths, batch_size, random)

        def batches_from(num_skipped):
            for rows in (draw() if shuffle else batches)[num_skipped:]:
                yield self.prepared(rows, lengths)

        first = self._whole(batches[0])
        tokens = first[0]["padding_mask"].shape if self._trims else None

        def spec(leaf):
            shape = [None, *leaf.shape[1:]]
            shape[-1] = None if leaf.shape == tokens else shape[-1]
            return keras.KerasTensor(shape, leaf.dtype)

        return deliver(batches_from, tree.map_structure(spec, first), len(batches))

    def _whole(self, rows):
        def take(column):
            is_list = isinstance(column, list)
            return [column[row] for row in rows] if is_list else column[rows]

        batch = self._prepare(*(map_columns(take, part) for part in self._columns))
        parts = keras.utils.unpack_x_y_sample_weight(batch)
        parts = tuple(part for part in parts if part is not None)
        return tree.map_structure(keras.ops.convert_to_numpy, parts)


def split_rows(rows, validation_split):
    """Returns the first rows, and the last rows, which are held out."""
    if not is_in_memory(rows[0]):
        raise ValueError(
            "`validation_split` needs rows in memory. Received: x of type "
            f"{type(rows[0]).__name__}. Pass `validation_data`."
        )
    rows = map_columns(_as_tensor, rows)
    num_rows = _number_of_rows(rows)
    num_first = int(num_rows * (1 - validation_split))
    if not 0 < num_first < num_rows:
        raise ValueError(
            "`validation_split` must leave rows to train on and rows to hold out. "
            f"Received: validation_split={validation_split} of {num_rows} rows."
        )

    def take(part):
        return tree.map_structure(lambda t: None if t is None else t[part], rows)

    return take(slice(num_first)), take(slice(num_first, None))


def batches_of_py_dataset(source, first_batch):
    """Returns a dataset of the batches of a `keras.utils.PyDataset`.

    Rows of different lengths are padded with "" or 0.

    Args:
        source: `keras.utils.PyDataset`.
        first_batch: Its first batch, for the types.
    """
    if not source.num_batches:
        raise ValueError(
            "A `keras.utils.PyDataset` of text must have an end, and a batch. Received: "
            f"num_batches={source.num_batches}. Give it a `__len__`."
        )

    def as_dense(batch):
        return tree.map_structure(dense, map_columns(_as_tensor, batch))

    def generate():
        for index in range(source.num_batches):
            yield tree.map_structure(_typed, as_dense(source[index]), signature)
        source.on_epoch_end()

    signature = tree.map_structure(
        lambda leaf: tf.TensorSpec([None] * leaf.shape.rank, leaf.dtype),
        as_dense(first_batch),
    )
    batches = tf.data.Dataset.from_generator(generate, output_signature=signature)
    return batches.apply(tf.data.experimental.assert_cardinality(source.num_batches))


def _typed(tensor, spec):
    # Rows that are all empty, as of questions without answers, have no type.
    return tensor if tf.size(tensor) else tf.zeros(tensor.shape, spec.dtype)


def is_in_memory(x):
    """Returns whether data are rows in memory, or one text, rather than a dataset."""
    is_nested = isinstance(x, list | tuple | dict | str)
    return is_nested or hasattr(x, "__array__") or tf.is_tensor(x)


def _as_tensor(data):
    if tf.is_tensor(data):
        return data
    if hasattr(data, "__array__"):
        data = np.asarray(data)
    with tf.device("CPU"):
        try:
            return tf.convert_to_tensor(data)
        except (TypeError, ValueError):
            _check_texts(data)
            if not all(isinstance(row, list | tuple | np.ndarray) for row in data):
                raise
            # Lists of different lengths.
            return tf.ragged.constant(list(data))


def _ends(batch):
    """Returns the tokens of the rows of a batch, of several parts the most."""
    is_real = batch[0]["padding_mask"].astype(bool)
    ends = np.where(is_real, 1 + np.arange(is_real.shape[-1]), 1)
    return ends.reshape(len(is_real), -1).max(axis=1)


def _as_array(column):
    # Ragged rows, as of tags, become arrays in the preprocessor.
    return column.to_list() if hasattr(column, "to_list") else column.numpy()


def _check_texts(rows):
    is_text = [isinstance(row, str | bytes) for row in rows]
    if (any(is_text) or rows[0] is None) and not all(is_text):
        number = is_text.index(False)
        raise ValueError(
            f"Each row must have a text. Received: {rows[number]} in row {number}. "
            'Leave the row out, or pass "".'
        )
    for row in rows:
        if isinstance(row, str):
            check_text(row)


def _number_of_rows(rows):
    leaves = [leaf for leaf in tree.flatten(rows) if leaf is not None]
    if any(leaf.shape.rank == 0 for leaf in leaves):
        raise ValueError("Data must have rows. Received: one value. Put it in a list.")
    numbers = sorted({int(leaf.shape[0]) for leaf in leaves})
    if len(numbers) > 1 or numbers == [0]:
        raise ValueError(
            "`x`, `y` and `sample_weight` must have equally many rows, at least one. "
            f"Received: {' and '.join(map(str, numbers))} rows."
        )
    return numbers[0]
