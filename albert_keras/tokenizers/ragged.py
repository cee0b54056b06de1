"""Index arithmetic for ragged arrays: rows of different lengths, stored end to end."""

import numpy as np


def offsets_of(lengths):
    """Returns the offsets where rows begin and end, int64 `(num_rows + 1,)`.

    >>> offsets_of([2, 3]).tolist()
    [0, 2, 5]
    """
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


def ragged_positions(starts, lengths):
    """Returns the positions of all elements of rows with given starts and lengths.

    >>> ragged_positions(np.array([5, 9]), np.array([2, 3])).tolist()
    [5, 6, 9, 10, 11]
    """
    ends = np.cumsum(lengths)
    shifts = np.repeat(starts - (ends - lengths), lengths)
    return shifts + np.arange(len(shifts))


def slice_rows(values, starts, lengths):
    """Returns rows of a TensorFlow tensor as a ragged one, `(num_rows, None)`.

    Row `i` has the `lengths[i]` elements of `values` from `starts[i]` on; rows may
    overlap. `starts` and `lengths` are int64 tensors `(num_rows,)`.
    """
    import tensorflow as tf

    positions = tf.ragged.range(starts, starts + lengths, row_splits_dtype=tf.int64)
    return positions.with_flat_values(tf.gather(values, positions.flat_values))
