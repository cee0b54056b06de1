"""Packing of segments as `[CLS] first [SEP]` or `[CLS] first [SEP] second [SEP]`.

Only this module knows the layout. `pack_segments` packs ragged NumPy arrays without
TensorFlow, for data preparation and fine-tuning. `pack_tensors` does the same in a
TensorFlow graph, for `tf.data`, SavedModel and TFLite. Both truncate by `kept_lengths`.
"""

from typing import NamedTuple

import numpy as np

from albert_keras.tokenizers.ragged import offsets_of, ragged_positions


class Segments(NamedTuple):
    """One segment of each row: `lengths` tokens from `starts` on, both `(num_rows,)`."""

    token_ids: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray


def whole_texts(token_ids, offsets):
    """Returns the `Segments` of whole texts from the arrays of `encode_ragged`."""
    return Segments(token_ids, offsets[:-1], np.diff(offsets))


def num_special_tokens(num_segments):
    """Returns the number of special tokens in a row."""
    return 1 + num_segments


def room_in(sequence_length, num_segments):
    """Returns the room of a row, its length without special tokens, at least 1."""
    num_special = num_special_tokens(num_segments)
    if sequence_length <= num_special:
        raise ValueError(
            "`sequence_length` must leave room for a token beside the special tokens. "
            f"Received: sequence_length={sequence_length}, {num_special} of them special."
        )
    return sequence_length - num_special


def kept_lengths(lengths, room, arrays=np):
    """Returns how many tokens of each of one or two segments are kept.

    The longer segment of a pair is truncated first. If both are too long, the first one
    keeps the odd token. `lengths` are int `(num_rows,)`, `room` is that of `room_in`, and
    `arrays` is NumPy or TensorFlow.

    Reference: google-research/albert classifier_utils.py `_truncate_seq_pair`.
    """
    if len(lengths) == 1:
        return [arrays.minimum(lengths[0], room)]
    first, second = lengths
    kept = arrays.minimum(first, arrays.maximum(room - second, (room + 1) // 2))
    return [kept, arrays.minimum(second, room - kept)]


def truncate(segments, sequence_length):
    """Returns the beginnings of one or two `Segments` that fit in `sequence_length`."""
    room = sequence_length - num_special_tokens(len(segments))
    lengths = kept_lengths([segment.lengths for segment in segments], room)
    return [
        segment._replace(lengths=kept)
        for segment, kept in zip(segments, lengths, strict=True)
    ]


def pack_segments(segments, cls_id, sep_id, *, keep_empty=True):
    """Packs the segments of each row with special tokens around them.

    Args:
        segments: List of one or two `Segments` of the same number of rows. They are not
            truncated.
        cls_id, sep_id: int. Ids of the special tokens.
        keep_empty: bool. Whether an empty second segment still has its [SEP].

    Returns:
        Tuple of int64 `(num_rows + 1,)`, the offsets of the rows, and a dict of arrays
        `(num_tokens,)`: `token_ids`, of the segments' type, and int32 `segment_ids`, the
        number of the segment. A [SEP] belongs to the segment before it.

    >>> first = whole_texts(np.array([11, 12, 13]), np.array([0, 2, 3]))
    >>> second = whole_texts(np.array([21, 22]), np.array([0, 1, 2]))
    >>> offsets, arrays = pack_segments([first, second], cls_id=2, sep_id=3)
    >>> np.split(arrays["token_ids"], offsets[1:-1])
    [array([ 2, 11, 12,  3, 21,  3]), array([ 2, 13,  3, 22,  3])]
    """
    # One table to gather from, with the special tokens at its end. Segments may share an
    # array.
    parts = {id(segment.token_ids): segment.token_ids for segment in segments}
    special = np.array([cls_id, sep_id], segments[0].token_ids.dtype)
    table = np.concatenate([*parts.values(), special])
    table_starts = dict(
        zip(parts, offsets_of([len(ids) for ids in parts.values()]), strict=False)
    )
    one = np.ones(len(segments[0].lengths), np.int64)
    starts, lengths, numbers = [one * (len(table) - 2)], [one], [0]
    for number, segment in enumerate(segments):
        start = table_starts[id(segment.token_ids)]
        starts += [start + segment.starts, one * (len(table) - 1)]
        is_kept = keep_empty or number == 0
        lengths += [segment.lengths, one if is_kept else np.sign(segment.lengths)]
        numbers += [number, number]
    # (num_rows, 1 + 2 * num_segments): [CLS], a segment, [SEP], a segment, [SEP]
    lengths = np.stack(lengths, axis=1)
    sources = ragged_positions(np.stack(starts, axis=1).ravel(), lengths.ravel())
    segment_ids = np.repeat(np.tile(np.int32(numbers), len(one)), lengths.ravel())
    arrays = {"token_ids": table[sources], "segment_ids": segment_ids}
    return offsets_of(lengths.sum(axis=1)), arrays


def pad_rows(offsets, values, length, padding=0):
    """Returns ragged rows as a padded matrix, `(num_rows, length)`."""
    rows = np.full((len(offsets) - 1, length), padding, values.dtype)
    rows[np.arange(length) < np.diff(offsets)[:, np.newaxis]] = values
    return rows


def pack_tensors(segments, tokenizer, sequence_length):
    """Truncates, packs and pads segments in a TensorFlow graph, for TFLite too.

    Args:
        segments: List of one or two int32 ragged tensors `(batch, None)`.
        tokenizer: Has `cls_token_id`, `sep_token_id` and `pad_token_id`.
        sequence_length: int, in tokens.

    Returns:
        Dict of int32 tensors `(batch, sequence_length)`: `token_ids`, `segment_ids` and
        `padding_mask`, 1 on real tokens.
    """
    import tensorflow as tf

    room = sequence_length - num_special_tokens(len(segments))
    # (num_segments, batch, 1). Stacked, so that segments of different numbers of rows are
    # an error and are not broadcast.
    lengths = tf.stack([tf.cast(ids.row_lengths(), tf.int32) for ids in segments])
    lengths = tf.unstack(lengths[..., tf.newaxis])
    position = tf.range(sequence_length)[tf.newaxis, :]
    # (batch, sequence_length)
    token_ids = tf.where(position == 0, tokenizer.cls_token_id, tokenizer.pad_token_id)
    segment_ids = separator = tf.zeros_like(lengths[0])
    for number, (ids, length) in enumerate(
        zip(segments, kept_lengths(lengths, room, tf), strict=True)
    ):
        begin, separator = separator + 1, separator + 1 + length
        dense = ids.to_tensor(tokenizer.pad_token_id, shape=(None, sequence_length))
        index = tf.clip_by_value(position - begin, 0, sequence_length - 1)
        shifted = tf.gather(dense, index, batch_dims=1)
        is_segment = (position >= begin) & (position < separator)
        token_ids = tf.where(is_segment, shifted, token_ids)
        token_ids = tf.where(position == separator, tokenizer.sep_token_id, token_ids)
        is_segment |= position == separator
        segment_ids = tf.where(is_segment, number, segment_ids)
    return {
        "token_ids": token_ids,
        "segment_ids": segment_ids,
        "padding_mask": tf.cast(position <= separator, tf.int32),
    }


def trim_tensors(features):
    """Removes the padding at the end of all rows of a batch, in a TensorFlow graph.

    Rows keep at least one token, so that a batch may have no rows.

    Args:
        features: Dict of tensors `(batch, sequence_length)`, as `pack_tensors` returns
            them.

    Returns:
        Dict of tensors `(batch, length)`, where `length` is that of the longest row.
    """
    import tensorflow as tf

    mask = tf.cast(features["padding_mask"], tf.int32)
    ends = mask * tf.range(1, 1 + tf.shape(mask)[1])
    longest = tf.maximum(1, tf.reduce_max(ends))
    return {name: values[:, :longest] for name, values in features.items()}
