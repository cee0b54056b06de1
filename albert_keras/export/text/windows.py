"""Windows of contexts in the graph, by the rules of `make_windows`."""

from typing import NamedTuple

import tensorflow as tf

from albert_keras.export.text.graph import as_features
from albert_keras.tokenizers.packing import (
    num_special_tokens,
    pack_tensors,
    trim_tensors,
)
from albert_keras.tokenizers.ragged import slice_rows


class TensorWindows(NamedTuple):
    """Questions with overlapping windows of their contexts.

    Attributes:
        features: Dict of int32 `(num_windows, length)`: the features of `pack_tensors`,
            and `answer_mask`, 1 on [CLS] and on the context.
        may_start, may_end: Bool `(num_windows, length)`. Where answers may start and end.
        question_of: int64 `(num_windows,)`. The question of each window.
        tokens: int64 `(num_windows,)`. A position in a window plus this is the number of
            a token among the tokens of all contexts.
    """

    features: dict
    may_start: tf.Tensor
    may_end: tf.Tensor
    question_of: tf.Tensor
    tokens: tf.Tensor


def cut_windows(questions, contexts, task):
    """Returns the `TensorWindows` of a task for int32 ragged ids `(batch, None)`."""
    tokenizer, longest = task.tokenizer, task.recipe.sequence_length
    asked = questions[:, : task.max_question_length]
    # (batch,)
    room = longest - num_special_tokens(2) - asked.row_lengths()
    num_tokens = contexts.row_lengths()
    strides = tf.minimum(tf.constant(task.doc_stride, tf.int64), room)
    # The last window ends with the context.
    counts = 1 - tf.minimum(room - num_tokens, 0) // strides
    # (num_windows,)
    question_of = tf.repeat(tf.range(questions.nrows()), counts)
    starts = tf.ragged.range(counts).values * tf.gather(strides, question_of)
    lengths = tf.gather(num_tokens, question_of) - starts
    lengths = tf.minimum(lengths, tf.gather(room, question_of))
    begins = tf.gather(contexts.row_starts(), question_of) + starts
    asked = tf.gather(asked, question_of)
    rows = slice_rows(contexts.values, begins, lengths)
    packed = as_features(trim_tensors(pack_tensors([asked, rows], tokenizer, longest)))

    # (num_windows, length): positions in the window's part of the context.
    places = tf.range(tf.shape(packed["token_ids"])[1], dtype=tf.int64)
    shift = 2 + asked.row_lengths()
    inside = places - shift[:, tf.newaxis]
    is_context = (inside >= 0) & (inside < lengths[:, tf.newaxis])
    is_max = _have_max_context(begins, lengths, contexts.values)
    flat = tf.where(is_context, rows.row_starts()[:, tf.newaxis] + inside, 0)
    # All contexts of the batch may be empty.
    is_max = tf.gather(tf.pad(is_max, [[0, 1]]), flat)
    answer_mask = tf.cast(is_context | tf.equal(places, 0), tf.int32)
    return TensorWindows(
        {**packed, "answer_mask": answer_mask},
        is_context & is_max,
        is_context,
        question_of,
        begins - shift,
    )


def _have_max_context(begins, lengths, token_ids):
    """Returns which tokens have more context than in all other windows.

    See `answer_windows`. Among windows with equal context the first one counts.

    Args:
        begins, lengths: int64 `(num_windows,)`. The number of the first token, among the
            tokens of all contexts, and the number of tokens.
        token_ids: `(num_tokens,)`. All contexts.

    Returns:
        Bool, for the tokens of all windows, one window after the other.
    """
    tokens = tf.ragged.range(begins, begins + lengths)
    window_of, tokens = tokens.value_rowids(), tokens.values
    size = tf.gather(lengths, window_of)
    before = tokens - tf.gather(begins, window_of)
    context = tf.cast(tf.minimum(before, size - 1 - before), tf.float64)
    context += 0.01 * tf.cast(size, tf.float64)
    number = tf.size(token_ids, tf.int64)
    most = tf.math.unsorted_segment_max(context, tokens, number)
    is_most = tf.equal(context, tf.gather(most, tokens))
    last = tf.where(is_most, window_of, tf.int64.max)
    first = tf.math.unsorted_segment_min(last, tokens, number)
    return tf.equal(window_of, tf.gather(first, tokens))
