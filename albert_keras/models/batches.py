"""Text from every kind of data, as a `tf.data.Dataset` of batches."""

import keras
import numpy as np
import tensorflow as tf
from keras import tree

from albert_keras.checks import check_text
from albert_keras.preprocessors.base import dense


def in_batches(data, batch_size=None, shuffle=False):
    """Returns a dataset of batches `(x, y, sample_weight)`, as far as these are given.

    Args:
        data: Tuple `(x, y, sample_weight)` of rows in memory: nested tuples and dicts of
            lists and arrays, or `None`. Or `(source, None, None)`, where `source` is a
            `keras.utils.PyDataset` of batches, or another dataset, which is returned as
            it is.
        batch_size: int or `None`. Rows in a batch of data in memory. Default 32.
        shuffle: bool. Whether all rows in memory are shuffled before each epoch.

    Raises:
        ValueError: If rows differ in number, are none, or not batched; if a dataset
            comes with `y` or `sample_weight`, or rows with `sample_weight` alone; for
            generators and a `PyDataset` without end.
    """
    x, *others = data
    if _is_in_memory(x):
        return _batches_of_rows(_as_tensors(data), batch_size or 32, shuffle)
    if any(other is not None for other in others):
        raise ValueError(
            "A dataset must give `y` and `sample_weight` itself, with `x` in each batch. "
            f"Received: x of type {type(x).__name__}, and y or sample_weight."
        )
    if isinstance(x, keras.utils.PyDataset):
        return batches_of_py_dataset(x, x[0])
    if hasattr(x, "__next__"):
        raise ValueError(
            "Text must come from data that can be read again. Received: a "
            f"{type(x).__name__}. Pass lists, a `keras.utils.PyDataset`, or "
            "`tf.data.Dataset.from_generator`."
        )
    return x


def split_rows(rows, validation_split):
    """Returns the first rows, and the last rows, which are held out."""
    if not _is_in_memory(rows[0]):
        raise ValueError(
            "`validation_split` needs rows in memory. Received: x of type "
            f"{type(rows[0]).__name__}. Pass `validation_data`."
        )
    rows = _as_tensors(rows)
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
        return tree.map_structure(dense, _as_tensors(batch))

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


def _is_in_memory(x):
    is_nested = isinstance(x, list | tuple | dict | str)
    return is_nested or hasattr(x, "__array__") or tf.is_tensor(x)


def _as_tensors(data):
    """Returns nested tuples and dicts with a tensor for each list or array in them."""
    if isinstance(data, dict):
        return {name: _as_tensors(value) for name, value in data.items()}
    if isinstance(data, tuple):
        return tuple(_as_tensors(value) for value in data)
    if data is None or tf.is_tensor(data):
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
        raise ValueError(
            "Data must have rows. Received: a single value. Put it in a list."
        )
    numbers = sorted({int(leaf.shape[0]) for leaf in leaves})
    if len(numbers) > 1 or numbers == [0]:
        raise ValueError(
            "`x`, `y` and `sample_weight` must have equally many rows, at least one. "
            f"Received: {' and '.join(map(str, numbers))} rows."
        )
    return numbers[0]


def _batches_of_rows(rows, batch_size, shuffle):
    num_rows = _number_of_rows(rows)
    _, labels, weights = rows
    if labels is None and weights is not None:
        # Keras would ignore them.
        raise ValueError(
            "`sample_weight` must come with `y`. Received: weights without labels. "
            "Leave them out."
        )
    rows = keras.utils.pack_x_y_sample_weight(*rows)
    # Numbers of rows are shuffled rather than the rows, so that the buffer is small.
    numbers = tf.data.Dataset.range(num_rows)
    if shuffle:
        numbers = numbers.shuffle(num_rows)
    return numbers.batch(batch_size).map(
        lambda batch: tree.map_structure(lambda leaf: tf.gather(leaf, batch), rows)
    )
