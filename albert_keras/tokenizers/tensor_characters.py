"""Characters of strings in the TensorFlow graph: their code points, and words."""

import numpy as np
import tensorflow as tf

from albert_keras.tokenizers.normalization import points_where
from albert_keras.tokenizers.ragged import slice_rows


def code_points_of(strings):
    """Returns the code points of strings `(n,)`, int32 ragged `(n, None)`.

    Bytes that are not UTF-8 are dropped.
    """
    return tf.strings.unicode_decode(strings, "UTF-8", errors="ignore")


def look_up(points, values, default, codes):
    """Returns the value of each code: of `points`, sorted, `values`, else `default`."""
    # Of no character, so that there is a point.
    points = tf.constant(np.append(np.int32(-1), points))
    values = tf.constant(np.append(values[:0].dtype.type(default), values))
    place = tf.minimum(tf.searchsorted(points, codes), tf.size(points) - 1)
    is_found = tf.equal(tf.gather(points, place), codes)
    return tf.where(is_found, tf.gather(values, place), default)


def are_spaces(codes):
    """Returns whether characters are white space, as `str.isspace` says."""
    points = points_where(str.isspace)
    return look_up(points, np.ones(len(points), bool), False, codes)


def split_at_spaces(strings):
    """Splits strings `(n,)` at white space, as `str.split`, and locates the words.

    Returns:
        Tuple of ragged tensors `(n, None)`: the words, strings, and the number of
        characters before the start and the end of each, int64.
    """
    codes = code_points_of(strings)
    flat, row_of = codes.flat_values, codes.value_rowids()
    is_word = ~are_spaces(flat)
    # Before and after the characters of a row there is white space.
    ends_row = tf.pad(row_of[1:] != row_of[:-1], [[0, 1]], constant_values=True)
    ends_row = ends_row[: tf.size(flat)]
    is_before = tf.pad(is_word & ~ends_row, [[1, 0]])[:-1]
    is_after = tf.pad(is_word[1:], [[0, 1]])[: tf.size(flat)] & ~ends_row
    starts = tf.where(is_word & ~is_before)[:, 0]
    ends = tf.where(is_word & ~is_after)[:, 0] + 1
    words = slice_rows(flat, starts, ends - starts)
    words = tf.strings.unicode_encode(words, "UTF-8")
    row_of = tf.gather(row_of, starts)
    before = tf.gather(codes.row_starts(), row_of)
    return tuple(
        tf.RaggedTensor.from_value_rowids(values, row_of, nrows=codes.nrows())
        for values in (words, starts - before, ends - before)
    )
