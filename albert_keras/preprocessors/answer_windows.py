"""Packing of questions and windows of their contexts, with answer positions."""

import collections
import dataclasses
from typing import NamedTuple

import numpy as np

from albert_keras.checks import check_positive_integer
from albert_keras.preprocessors import answer_spans
from albert_keras.text.examples import Examples
from albert_keras.tokenizers import packing
from albert_keras.tokenizers.ragged import ragged_positions

# [CLS] question [SEP] context [SEP]
_NUM_SPECIAL = packing.num_special_tokens(2)


@dataclasses.dataclass(frozen=True)
class AnswerWindows:
    """Questions with windows of their contexts: `[CLS] question [SEP] context [SEP]`.

    A long context is cut into overlapping windows, each with the question.

    Args:
        examples: `Examples`, one per window, in the order of the questions. Token arrays,
            int32: `token_ids`; `segment_ids`; `answer_mask`, 1 on [CLS] and on the
            context. With answers, arrays of windows, int32: `start_positions` and
            `end_positions`, the answer's first and last token, and `is_impossible`; 0, 0
            and 1 if the window does not hold the whole answer.
        context_starts, context_ends: int32 `(num_tokens,)`. Character span of each token
            in the context; -1 outside of the context.
        is_max_context: bool `(num_tokens,)`. Whether the window, of all that hold a token
            of the context, has the most context around it.
        question_of: int64 `(num_windows,)`. Number of the question of each window.
        lost: Dict from a reason to the number of questions left out for it.
        num_mended: int. Answers found at another position than the file states.
    """

    examples: Examples
    context_starts: np.ndarray
    context_ends: np.ndarray
    is_max_context: np.ndarray
    question_of: np.ndarray
    lost: dict
    num_mended: int


def make_windows(
    questions,
    encoder,
    *,
    sequence_length,
    doc_stride,
    max_question_length,
    with_answers=True,
    drops_lost=True,
):
    """Tokenizes questions and contexts, cuts windows, and locates the answers in them.

    Args:
        questions: list of `Question`.
        encoder: The `encoder` of a tokenizer of this package.
        sequence_length: int. Maximum number of tokens of a window, question and special
            tokens included.
        doc_stride: int. Tokens from the start of one window to that of the next.
        max_question_length: int. Tokens of a question that are kept, from its beginning.
        with_answers: bool. Whether to locate the answers, for training, and to leave out
            questions whose answer is lost; see `find_answers`. If `False`, every question
            has windows. Default True.
        drops_lost: bool. Whether to leave these questions out. If `False`, their windows
            are those of questions without an answer. Default True.

    Returns:
        `AnswerWindows`.

    Raises:
        ValueError: If a length is not positive, or there is no room for the context.

    Reference: google-research/albert squad_utils.py `convert_examples_to_features`,
    which, without character offsets, aligns the characters of tokens and text.
    """
    check_window_lengths(sequence_length, doc_stride, max_question_length)
    contexts = answer_spans.locate_contexts(questions, encoder)
    asked = packing.whole_texts(*encoder.encode_ragged([q.question for q in questions]))
    asked = asked._replace(lengths=np.minimum(asked.lengths, max_question_length))
    room = sequence_length - _NUM_SPECIAL - asked.lengths
    num_tokens = np.diff(contexts.offsets)[contexts.context_of]
    windows = _cut(num_tokens, room, doc_stride)
    positions, lost, num_mended = {}, {}, 0
    if with_answers:
        spans, reasons, num_mended = answer_spans.find_answers(questions, contexts)
        windows, positions, lost = _locate(
            windows, spans, reasons, asked.lengths, drops_lost
        )
    packed = _pack(encoder, asked, contexts, windows, positions)
    return AnswerWindows(*packed, windows.question_of, lost, num_mended)


def check_window_lengths(sequence_length, doc_stride, max_question_length):
    """Raises a ValueError if the lengths of windows do not fit; see `make_windows`."""
    check_positive_integer("sequence_length", sequence_length)
    check_positive_integer("doc_stride", doc_stride)
    check_positive_integer("max_question_length", max_question_length)
    if sequence_length <= max_question_length + _NUM_SPECIAL:
        raise ValueError(
            "A window must have room for context beside question and special tokens. "
            f"Received: sequence_length={sequence_length}, max_question_length="
            f"{max_question_length}. Lower `max_question_length`."
        )


class _Windows(NamedTuple):
    """Number of the question, first token of the context, and length of each window."""

    # int64 (num_windows,)
    question_of: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray


def _cut(num_tokens, room, doc_stride):
    """Cuts contexts of `num_tokens` into windows of `room`, both `(num_questions,)`."""
    strides = np.minimum(doc_stride, room)
    # The last window ends with the context.
    counts = 1 + -(np.minimum(room - num_tokens, 0) // strides)
    # (num_windows,)
    question_of = np.repeat(np.arange(len(num_tokens)), counts)
    starts = ragged_positions(np.zeros_like(counts), counts) * strides[question_of]
    lengths = np.minimum(num_tokens[question_of] - starts, room[question_of])
    return _Windows(question_of, starts, lengths)


def _locate(windows, spans, reasons, question_lengths, drops_lost):
    """Returns the windows of questions with a found answer, its positions, and `lost`."""
    # (num_windows,)
    first, last = spans[windows.question_of].T
    is_whole = (first >= windows.starts) & (last < windows.starts + windows.lengths)
    # The context follows [CLS], the question and [SEP].
    shift = 2 + question_lengths[windows.question_of] - windows.starts
    positions = {
        "start_positions": np.where(is_whole, first + shift, 0),
        "end_positions": np.where(is_whole, last + shift, 0),
        "is_impossible": ~is_whole,
    }
    # (num_questions,)
    in_window = np.zeros(len(spans), bool)
    in_window[windows.question_of[is_whole]] = True
    reasons = np.array(reasons, object)
    reasons[(spans[:, 0] >= 0) & ~in_window] = "whole in no window"
    is_lost = reasons != np.array(None)
    kept = ~(is_lost & drops_lost)[windows.question_of]
    return (
        _Windows(*(array[kept] for array in windows)),
        {name: array[kept].astype(np.int32) for name, array in positions.items()},
        dict(collections.Counter(reasons[is_lost])),
    )


def _pack(encoder, asked, contexts, windows, example_arrays):
    """Returns the first four fields of `AnswerWindows`."""
    number = windows.question_of
    questions = packing.Segments(
        asked.token_ids, asked.starts[number], asked.lengths[number]
    )
    # (num_windows,)
    starts = contexts.offsets[contexts.context_of[number]] + windows.starts
    parts = packing.Segments(contexts.token_ids, starts, windows.lengths)
    special = encoder.cls_token_id, encoder.sep_token_id
    offsets, token_arrays = packing.pack_segments([questions, parts], *special)
    # Positions of context tokens in the contexts, and in the packed rows.
    sources = ragged_positions(starts, windows.lengths)
    targets = ragged_positions(offsets[:-1] + 2 + questions.lengths, windows.lengths)

    def in_context(values, rest):
        array = np.full(offsets[-1], rest, values.dtype)
        array[targets] = values
        return array

    token_arrays["answer_mask"] = in_context(np.ones(len(targets), np.int32), 0)
    token_arrays["answer_mask"][offsets[:-1]] = 1
    return (
        Examples(offsets, token_arrays, example_arrays),
        in_context(contexts.spans[sources, 0], -1),
        in_context(contexts.spans[sources, 1], -1),
        in_context(_have_max_context(windows), False),
    )


def _have_max_context(windows):
    """Returns whether tokens have more context in their window than in all others.

    Context is the smaller number of tokens on the two sides, plus a hundredth of the
    window's length. Of windows with equal context, the first one counts.

    Reference: google-research/albert squad_utils.py `_check_is_max_context`.
    """
    question_of, starts, lengths = windows
    # (num_tokens,): the window of each token, and its position in the context.
    window_of = np.repeat(np.arange(len(lengths)), lengths)
    tokens = ragged_positions(starts, lengths)
    before = tokens - starts[window_of]
    after = lengths[window_of] - 1 - before
    context = np.minimum(before, after) + 0.01 * lengths[window_of]
    # Sorts the windows of each token of each question by their context.
    number = question_of[window_of] * (tokens.max(initial=0) + 1) + tokens
    order = np.lexsort((-context, number))
    is_max = np.empty(len(tokens), bool)
    is_max[order] = np.diff(number[order], prepend=-1) > 0
    return is_max
