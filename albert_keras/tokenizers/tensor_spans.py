"""Spans of tokens, in the text before normalization, in the TensorFlow graph.

The rules are those of `Encoder.tokenize_with_offsets`.
"""

import numpy as np
import tensorflow as tf

from albert_keras.tokenizers.normalization import points_where
from albert_keras.tokenizers.sentence_piece_model import invisible_characters
from albert_keras.tokenizers.word_splitting import is_mark, split_words_tensor


def code_points_of(strings):
    """Returns the code points of strings `(n,)`, int32 ragged `(n, None)`.

    Bytes that are not UTF-8 are dropped.
    """
    return tf.strings.unicode_decode(strings, "UTF-8", errors="ignore")


def are_among(points, codes):
    """Returns whether codes are among `points`, sorted int32."""
    place = tf.minimum(tf.searchsorted(points, codes), len(points) - 1)
    return tf.equal(tf.gather(points, place), codes)


def satisfy(predicate, codes):
    """Returns whether characters satisfy a predicate, such as `str.isspace`."""
    return are_among(points_where(predicate), codes)


def locate_pieces(strings, pieces, spans, encoder):
    """Returns the spans of SentencePiece pieces without invisible characters around them.

    Args:
        strings: Strings `(n,)`.
        pieces: int32 ragged `(n, None)`. Ids of the pieces.
        spans: Tuple of ragged tensors like `pieces`, their starts and ends in bytes.
        encoder: `SentencePieceEncoder`.

    Returns:
        Tuple of int64 `(num_pieces,)`, the starts and ends in characters of each text.
    """
    rows, pieces = pieces.value_rowids(), pieces.flat_values
    characters, places = tf.strings.unicode_decode_with_offsets(strings, "UTF-8")
    bytes_before = tf.cumsum(
        tf.cast(tf.strings.length(strings), tf.int64), exclusive=True
    )
    places = places.values + tf.gather(bytes_before, places.value_rowids())
    # (num_pieces,): positions among the characters of all texts.
    starts, ends = (
        tf.searchsorted(
            places,
            tf.cast(span.flat_values, tf.int64) + tf.gather(bytes_before, rows),
            out_type=tf.int64,
        )
        for span in spans
    )
    found = tf.gather(tf.constant(encoder.found_lengths, tf.int64), pieces)
    starts, ends = tf.where(found > 0, ends, starts), ends + found
    starts = tf.maximum(starts, tf.concat([[0], ends[:-1]], axis=0)[: tf.size(ends)])
    # White space and other invisible characters at both ends.
    points = np.array([*map(ord, invisible_characters(encoder.proto))], np.int32)
    visible = tf.where(~are_among(points, characters.values))[:, 0]
    following = tf.searchsorted(visible, starts)
    following = tf.gather(tf.concat([visible, [tf.int64.max]], axis=0), following)
    starts = tf.minimum(following, ends)
    previous = tf.searchsorted(visible, ends)
    previous = tf.gather(tf.concat([[tf.int64.min], visible], axis=0), previous)
    ends = tf.maximum(starts, previous + 1)
    # There may be several pieces of one character.
    is_inner = (starts == ends) & (pieces != encoder.marker_id)
    ends += tf.cast(is_inner, tf.int64)
    before = tf.gather(characters.row_starts(), rows)
    return starts - before, ends - before


def locate_tokens(strings, ids, lengths, rules):
    """Returns the spans of WordPiece tokens.

    Args:
        strings: Strings `(n,)`.
        ids: int32 ragged `(n, None)`. Tokens that cover all words of the texts.
        lengths: int64 `(num_tokens,)`. Characters of each token in its word.
        rules: `WordRules`.

    Returns:
        Tuple of int64 `(num_tokens,)`, the starts and ends in characters of each text.
    """
    codes = code_points_of(strings)
    # (num_characters,): how many characters of words each character becomes.
    points, place = tf.unique(codes.flat_values)
    characters = tf.strings.unicode_encode(points[:, tf.newaxis], "UTF-8")
    images = split_words_tensor(characters, rules)
    counts = tf.reduce_sum(tf.strings.length(images, "UTF8_CHAR"), axis=1)
    counts = tf.gather(counts, place)
    # (num_images,): where the characters of the words come from.
    sources = tf.repeat(tf.range(tf.size(counts, tf.int64)), counts)
    limits = tf.gather(codes.row_limits(), tf.gather(codes.value_rowids(), sources))
    following = tf.concat([sources[1:], limits[-1:]], axis=0)
    # A dropped mark, and all before it, belong to the last character of a word before.
    are_marks = satisfy(is_mark, codes.flat_values)
    stops = tf.where((counts > 0) | are_marks)[:, 0]
    place = tf.searchsorted(stops, tf.minimum(following, limits)) - 1
    image_ends = tf.maximum(sources, tf.gather(stops, place)) + 1

    rows = ids.value_rowids()
    ends = tf.cumsum(lengths)
    num_images = codes.with_values(tf.cast(counts, tf.int64))
    num_images = tf.cumsum(tf.reduce_sum(num_images, axis=1), exclusive=True)
    before = tf.gather(tf.pad(ends, [[1, 0]]), ids.row_starts())
    ends += tf.gather(num_images - before, rows)
    # If characters depend on neighbors, spans may be wrong, but inside of the texts.
    starts, ends = (
        tf.clip_by_value(place, 0, tf.size(sources, tf.int64) - 1)
        for place in (ends - lengths, ends - 1)
    )
    first = tf.gather(codes.row_starts(), rows)
    return tf.gather(sources, starts) - first, tf.gather(image_ends, ends) - first
