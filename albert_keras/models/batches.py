"""Batches of features, prepared from text in memory, in datasets or in `PyDataset`s."""

import functools
import itertools

import keras
import numpy as np
from keras import tree

from albert_keras.models.data_checks import is_features, unpack
from albert_keras.preprocessors.base import as_lists, map_columns
from albert_keras.text.delivery import deliver
from albert_keras.text.length_buckets import LENGTHS, shuffled_batches

# `tf.data.AUTOTUNE`, without an import of TensorFlow.
_AUTOTUNE = -1


def in_batches(source, prepare):
    """Returns a dataset of the prepared batches of data that are not in memory.

    Args:
        source: `tf.data.Dataset` or `keras.utils.PyDataset`.
        prepare: Function from `x`, `y` and `sample_weight` of a batch to features and,
            if there are any, labels and weights, as `Preprocessor`. A `tf.data.Dataset`
            calls it in a graph.

    Raises:
        ValueError: If it is a generator.
    """
    if isinstance(source, keras.utils.PyDataset):
        return _of_py_dataset(source, prepare)
    if not hasattr(source, "element_spec"):
        raise ValueError(
            "Text must come from data that can be read again. Received: a "
            f"{type(source).__name__}. Pass lists, a `keras.utils.PyDataset`, or "
            "`tf.data.Dataset.from_generator`."
        )
    return source.map(prepare, _AUTOTUNE).prefetch(_AUTOTUNE)


def _of_py_dataset(source, prepare):
    num_batches = source.num_batches

    def prepared(index):
        batch = unpack(source[index])
        columns = batch if is_features(batch[0]) else _columns(batch)
        return _as_arrays(prepare(*columns))

    def batches_from(num_skipped):
        for index in itertools.islice(itertools.count(), num_skipped, num_batches):
            yield prepared(index)
        source.on_epoch_end()

    def spec(leaf):
        return keras.KerasTensor([None] * leaf.ndim, leaf.dtype)

    return deliver(batches_from, tree.map_structure(spec, prepared(0)), num_batches)


class Rows:
    """Rows in memory, which Python code prepares in batches, on any backend.

    TensorFlow's pipelines would trace a graph for each call of `fit` or `predict`, and
    for each new length.

    Args:
        data: Tuple `(x, y, sample_weight)` of rows: nested tuples and dicts of lists and
            arrays, or `None`.
        prepare: As for `in_batches`.
        trims: bool. Whether batches are padded to their own lengths, rather than to the
            preprocessor's.
        by_token: bool. Whether labels and weights may have an axis of tokens.

    Raises:
        ValueError: If there are no rows, or if columns differ in length.
    """

    def __init__(self, data, prepare, trims, by_token=False):
        self._columns = _columns(data)
        self.num_rows = _number_of_rows(self._columns)
        self._prepare, self._trims, self._by_token = prepare, trims, by_token

    @functools.cached_property
    def lengths(self):
        """Numbers of tokens, int `(num_rows,)`; all 0 if batches are not trimmed."""
        if not self._trims:
            return np.zeros(self.num_rows, int)
        parts = np.array_split(np.arange(self.num_rows), -(-self.num_rows // 256))
        return np.concatenate([_ends(self._whole(rows)) for rows in parts])

    def prepared(self, rows, lengths=()):
        """Returns features, labels and weights of some rows, arrays in a tuple.

        Args:
            rows: int array `(batch,)`.
            lengths: Ascending lengths. The batch is padded to the first that is long
                enough. Default: to its longest row.
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
            order: int array `(num_rows,)`. Default: the order of the rows.
            shuffle: bool. Whether each epoch has a new order, with rows of similar length
                in a batch. Default False.
            lengths: As for `prepared`. Use few lengths if a step is compiled for each.
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
        """Returns a batch that is padded to the preprocessor's length."""

        def take(column):
            is_list = isinstance(column, list)
            return [column[row] for row in rows] if is_list else column[rows]

        return _as_arrays(self._prepare(*map_columns(take, self._columns)))


def split_rows(data, validation_split):
    """Returns data of the first rows, and of the last rows, which are held out."""
    columns = _columns(data)
    num_first = int(_number_of_rows(columns) * (1 - validation_split))
    first = map_columns(lambda column: column[:num_first], columns)
    return first, map_columns(lambda column: column[num_first:], columns)


def _columns(data):
    """Returns rows as columns: lists of `x`, and arrays of labels and weights."""
    x, *others = data
    x = as_lists(x)
    map_columns(_check_texts, x)
    return x, *(map_columns(_as_array, column) for column in others)


def _check_texts(rows):
    for row, text in enumerate(rows if isinstance(rows, list) else ()):
        if isinstance(text, float | None):
            raise ValueError(
                f"Rows must have a text. Received: {text} in row {row}. Leave it out."
            )


def _as_array(column):
    """Returns an array; rows of different lengths, as of tags, stay lists."""
    if hasattr(column, "__array__") and column.dtype != object:
        return np.asarray(column)
    rows = as_lists(column)
    try:
        array = np.array(rows)
    except ValueError:
        return [*map(as_lists, rows)]
    # TensorFlow's types of Python's numbers.
    types = {"i": np.int32, "f": np.float32}
    return array.astype(types.get(array.dtype.kind, array.dtype))


def _number_of_rows(columns):
    leaves = []
    map_columns(leaves.append, columns)
    # A single text or number has no rows.
    numbers = {
        len(leaf) if isinstance(leaf, list) or np.ndim(leaf) else 0 for leaf in leaves
    }
    if len(numbers) > 1 or 0 in numbers:
        raise ValueError(
            "`x`, `y` and `sample_weight` must be lists or arrays of equally many rows, "
            f"at least one. Received: {' and '.join(map(str, sorted(numbers)))} rows."
        )
    return numbers.pop()


def _as_arrays(prepared):
    """Returns what a preprocessor returned as a tuple of arrays, without `None`."""
    parts = keras.utils.unpack_x_y_sample_weight(prepared)
    parts = tuple(part for part in parts if part is not None)
    return tree.map_structure(keras.ops.convert_to_numpy, parts)


def _ends(batch):
    """Returns the tokens of each row of a batch, the most of its parts."""
    is_real = batch[0]["padding_mask"].astype(bool)
    ends = np.where(is_real, 1 + np.arange(is_real.shape[-1]), 1)
    return ends.reshape(len(is_real), -1).max(axis=1)
