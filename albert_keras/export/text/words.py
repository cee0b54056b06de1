"""Words of running text in the TensorFlow graph, by the rules of `tokenizers.words`."""

import functools
import sys

import numpy as np
import tensorflow as tf
import tensorflow_text as tf_text

from albert_keras.tokenizers.ragged import slice_rows
from albert_keras.tokenizers.tensor_spans import code_points_of, satisfy
from albert_keras.tokenizers.words import WORD, is_spelling, kind_of


def extend_to_words(codes, starts, ends):
    """Extends spans in texts to whole words, as `words.whole_words`.

    Args:
        codes: int32 ragged `(n, None)`. Code points of the texts.
        starts, ends: int64 `(m,)`. Positions among the characters of all texts.
    """
    flat, row_of = codes.flat_values, codes.value_rowids()
    are_spelling = satisfy(is_spelling, flat)
    is_inner = are_spelling[1:] & are_spelling[:-1] & (row_of[1:] == row_of[:-1])
    borders = 1 + tf.where(~is_inner)[:, 0]
    borders = tf.concat([[0], borders, [tf.size(flat, tf.int64)]], axis=0)
    before = tf.searchsorted(borders, starts, side="right") - 1
    after = tf.searchsorted(borders, ends)
    return tf.gather(borders, before), tf.gather(borders, after)


def locate_words(strings):
    """Splits strings `(n,)` into words by the rule of `words.locate_words`.

    Returns:
        Tuple of ragged tensors `(n, None)`: the words, strings, and the number of
        characters before the start and the end of each, int64.
    """
    codes = code_points_of(strings)
    flat, row_of = codes.flat_values, codes.value_rowids()
    firsts, kinds = _kind_intervals()
    kinds = tf.gather(kinds, tf.searchsorted(firsts, flat, side="right") - 1)
    is_space = tf.equal(kinds, ord(" "))
    begins = is_space | tf.pad(row_of[1:] != row_of[:-1], [[1, 0]])[: tf.size(flat)]
    # A chunk between spaces that has a Chinese or Japanese character is split everywhere.
    chunk = tf.cumsum(tf.cast(begins, tf.int32))
    are_unspaced = tf.cast(tf.equal(kinds, ord("u")), tf.int32)
    are_unspaced = tf.math.unsorted_segment_max(are_unspaced, chunk, tf.size(chunk) + 1)
    is_unspaced = ~is_space & (tf.gather(are_unspaced, chunk) > 0)
    kinds = tf.where(is_unspaced, ord("u"), kinds)
    kinds = tf.strings.unicode_encode(codes.with_flat_values(kinds), "UTF-8")

    # The kinds are ASCII characters, so that their bytes are the characters of the text.
    _, starts, ends = tf_text.regex_split_with_offsets(kinds, f"{WORD}| +", WORD)
    row_of = starts.value_rowids()
    before = tf.gather(codes.row_starts(), row_of)
    words = slice_rows(flat, starts.values + before, (ends - starts).values)
    words = starts.with_values(tf.strings.unicode_encode(words, "UTF-8"))
    return words, starts, ends


@functools.cache
def _kind_intervals():
    """Returns the first code points and the kinds of intervals of one kind."""
    kinds = "".join(map(kind_of, map(chr, range(sys.maxunicode + 1)))).encode()
    kinds = np.frombuffer(kinds, np.uint8).astype(np.int32)
    firsts = np.flatnonzero(np.diff(kinds, prepend=-1)).astype(np.int32)
    return firsts, kinds[firsts]
