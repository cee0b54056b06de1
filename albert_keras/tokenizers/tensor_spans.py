"""Spans of tokens in the text before normalization, in the TensorFlow graph.

The rules are those of `Encoder.tokenize_with_offsets`. Normalization turns each character
by itself into zero or more characters, its images; tables have their number.
"""

import functools

import numpy as np
import tensorflow as tf

from albert_keras.tokenizers import normalization, tensor_characters
from albert_keras.tokenizers.word_splitting import is_mark, split_words


class Images:
    """Alignment of normalized characters, the images, with the characters of texts.

    Args:
        codes: int32 ragged `(n, None)`. Code points of the texts.
        counts: int32 `(num_characters,)`. Number of images of each character.
        extends: bool `(num_characters,)`. Whether a character without image, and all
            between, belong to the last character with an image before it.
    """

    def __init__(self, codes, counts, extends):
        row_of = codes.value_rowids()
        # (num_units,): characters with an image, and the last that belongs to each.
        units = tf.where(counts > 0)[:, 0]
        is_end = (counts > 0) | extends
        stops = tf.where(is_end)[:, 0]
        following = tf.concat([units[1:], [tf.size(counts, tf.int64)]], axis=0)
        following = following[: tf.size(units)]
        of_text = tf.gather(codes.row_limits(), tf.gather(row_of, units))
        following = tf.minimum(following, of_text)
        last = tf.gather(stops, tf.searchsorted(stops, following) - 1)
        # (num_images,)
        sizes = tf.gather(counts, units)
        unit_of = tf.repeat(tf.range(tf.size(units, tf.int64)), sizes)
        is_last = tf.concat([unit_of[1:] != unit_of[:-1], [True]], axis=0)
        is_last = is_last[: tf.size(unit_of)]
        sources = tf.gather(units, unit_of)
        rows = tf.gather(row_of, sources)
        before = tf.gather(codes.row_starts(), rows)
        self._starts = sources - before
        ends = tf.where(is_last, tf.gather(last, unit_of), sources) + 1
        self._ends = ends - before
        # (n + 1,): where the images of each text begin, and the last ones end.
        lengths = tf.reduce_sum(codes.with_values(tf.cast(counts, tf.int64)), axis=1)
        self.row_splits = tf.pad(tf.cumsum(lengths), [[1, 0]])

    def spans(self, starts, ends, row_of):
        """Returns the starts and ends in texts of spans of images, int64 `(num_spans,)`.

        `starts` and `ends` count the images of all texts; `row_of` are the texts. An
        empty span becomes the start of the next image, or the end of the text.
        """
        row_ends = tf.gather(self.row_splits, row_of + 1)
        # If a table lacks a character, spans may be wrong, but never outside of the text.
        starts = tf.clip_by_value(starts, tf.gather(self.row_splits, row_of), row_ends)
        ends = tf.clip_by_value(ends, starts, row_ends)
        is_empty, is_at_end = starts >= ends, starts >= row_ends
        first, last = tf.pad(self._starts, [[1, 1]]), tf.pad(self._ends, [[1, 1]])
        start, end = tf.gather(first, 1 + starts), tf.gather(last, ends)
        point = tf.where(is_at_end, end, start)
        return tf.where(is_empty, point, start), tf.where(is_empty, point, end)


def locate_pieces(strings, prepared, spans, found, preprocessing, invisible):
    """Locates SentencePiece pieces in texts before `preprocess_tensor`.

    Args:
        strings, prepared: Strings `(n,)`, before and after.
        spans: Tuple of int64 ragged tensors `(n, None)`, the starts and ends of pieces in
            `prepared`, in bytes.
        found: int64 `(num_pieces,)`. Characters of added tokens, 0 for other pieces; see
            `SentencePieceEncoder.found_lengths`.
        preprocessing: Dict, the options of `preprocess_tensor`.
        invisible: str. Characters that are cut off at both ends of a piece.

    Returns:
        Tuple of `Images`, and int64 `(num_pieces,)`, the starts and ends of the pieces
        without invisible characters around them, among the images of all texts.
    """
    codes = tensor_characters.code_points_of(strings)
    counts = _count_prepared(codes, preprocessing)
    images = Images(codes, counts, tf.equal(counts, 0) & ~_is_outside(codes))

    # (num_images,): the position of each image's first byte among those of all texts.
    characters, places = tf.strings.unicode_decode_with_offsets(prepared, "UTF-8")
    bytes_before = tf.cumsum(tf.strings.length(prepared), exclusive=True)
    bytes_before = tf.cast(bytes_before, tf.int64)
    places = places.values + tf.gather(bytes_before, places.value_rowids())
    starts, ends = (
        tf.searchsorted(
            places,
            span.values + tf.gather(bytes_before, span.value_rowids()),
            out_type=tf.int64,
        )
        for span in spans
    )
    starts, ends = tf.where(found > 0, ends, starts), ends + found
    starts = tf.maximum(starts, tf.concat([[0], ends[:-1]], axis=0)[: tf.size(ends)])
    points = np.array(sorted(map(ord, invisible)), np.int32)
    visible = tf.where(~tensor_characters.are_among(points, characters.values))[:, 0]
    following = tf.searchsorted(visible, starts)
    following = tf.gather(tf.concat([visible, [tf.int64.max]], axis=0), following)
    starts = tf.minimum(following, ends)
    previous = tf.searchsorted(visible, ends)
    previous = tf.gather(tf.concat([[tf.int64.min], visible], axis=0), previous)
    return images, starts, tf.maximum(starts, previous + 1)


def move_places(places, lengths, new_lengths):
    """Returns the spans of pieces in another segmentation of the same texts.

    Args:
        places: Tuple of int64 `(num_pieces,)`, the starts and ends of pieces.
        lengths, new_lengths: int64 `(num_pieces,)` and `(num_new_pieces,)`. Characters of
            the pieces of all texts, in the two segmentations.
    """
    starts, ends = places
    stops, new_stops = tf.cumsum(lengths), tf.cumsum(new_lengths)
    begins, new_begins = stops - lengths, new_stops - new_lengths

    def within(piece, stop):
        return tf.gather(ends, piece) - tf.gather(stops, piece) + stop

    of_end = tf.searchsorted(stops, new_stops)
    of_start = tf.searchsorted(begins, new_begins, side="right") - 1
    is_same = tf.gather(begins, of_start) == new_begins
    new_starts = tf.gather(starts, of_start)
    new_starts = tf.where(is_same, new_starts, within(of_start, new_begins))
    return new_starts, within(of_end, new_stops)


def locate_words(strings, rules):
    """Returns the `Images` of texts as the characters of their words, without spaces."""
    codes = tensor_characters.code_points_of(strings)
    points, counts = _word_table(rules)
    counts = tensor_characters.look_up(points, counts, 1, codes.flat_values)
    are_marks = tensor_characters.satisfy(is_mark, codes.flat_values)
    return Images(codes, counts, tf.equal(counts, 0) & are_marks)


def _count_prepared(codes, preprocessing):
    """Returns the number of images of each character, int32 `(num_characters,)`."""
    flat, row_of = codes.flat_values, codes.value_rowids()
    points, counts = _preprocessing_table(tuple(preprocessing.items()))
    counts = tensor_characters.look_up(points, counts, 1, flat)
    spaces = tensor_characters.satisfy(str.isspace, flat)
    is_first = tf.concat([[True], row_of[1:] != row_of[:-1]], axis=0)[: tf.size(flat)]
    follows_space = tf.concat([[False], spaces[:-1]], axis=0)[: tf.size(flat)]
    # White space becomes one space; at the ends of a text, none.
    counts = tf.where(spaces, 1, counts)
    is_repeated = spaces & follows_space & ~is_first
    counts = tf.where(is_repeated | (spaces & _is_outside(codes)), 0, counts)
    if preprocessing["huggingface_quotes"]:
        counts = tf.where(_are_second_quotes(flat, is_first), 0, counts)
    return counts


def _is_outside(codes):
    """Returns whether characters are white space at the ends of texts."""
    spaces = tensor_characters.satisfy(str.isspace, codes.flat_values)
    number = tf.cumsum(tf.cast(~spaces, tf.int64))
    number = tf.pad(number, [[1, 0]])
    row_of = codes.value_rowids()
    before = tf.gather(tf.gather(number, codes.row_starts()), row_of)
    after = tf.gather(tf.gather(number, codes.row_limits()), row_of)
    return (number[1:] == before) | (spaces & (number[1:] == after))


def _are_second_quotes(flat, is_first):
    """Returns whether characters are the second of two equal quotes that become one."""
    is_quote = (flat == ord("'")) | (flat == ord("`"))
    follows_equal = tf.concat([[False], flat[1:] == flat[:-1]], axis=0)[: tf.size(flat)]
    begins_run = ~(is_quote & follows_equal & ~is_first)
    run_starts = tf.where(begins_run)[:, 0]
    run_of = tf.cumsum(tf.cast(begins_run, tf.int64)) - 1
    place = tf.range(tf.size(flat, tf.int64)) - tf.gather(run_starts, run_of)
    return is_quote & tf.equal(place % 2, 1)


@functools.cache
def _preprocessing_table(preprocessing):
    options = {**dict(preprocessing), "huggingface_quotes": False}
    preprocess = functools.partial(normalization.preprocess_text, **options)
    return _table_of(
        lambda character: character.isspace() or len(preprocess(character))
    )


@functools.cache
def _word_table(rules):
    return _table_of(lambda character: sum(map(len, split_words(character, rules))))


def _table_of(count_images):
    """Returns the code points without exactly one image, and the numbers of images."""
    points = normalization.points_where(normalization.is_assigned)
    counts = np.array([count_images(chr(point)) for point in points], np.int32)
    return points[counts != 1], counts[counts != 1]
