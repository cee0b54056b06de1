"""Questions and their contexts as windows of tokens, with the answers' places."""

import collections
import dataclasses
from typing import NamedTuple

import numpy as np

from albert_keras.checks import check_positive_integer
from albert_keras.tasks.question_answering.answer_spans import (
    IN_NO_WINDOW,
    find_answers,
    locate_contexts,
)
from albert_keras.text.sequences import Examples, join_pieces, offsets_of, ragged_places

# [CLS] question [SEP] context [SEP]
_NUM_SPECIAL = 3


@dataclasses.dataclass(frozen=True)
class AnswerWindows:
    """Questions with windows of their contexts: `[CLS] question [SEP] context [SEP]`.

    A context that does not fit is cut into windows that overlap, each with the question.
    The tokens of all windows stand in a row, as in `Examples`.

    Args:
        examples: `Examples`, one a window, in the questions' order. Of tokens, int32:
            `token_ids`; `segment_ids`; `answer_mask`, 1 on [CLS] and on the context. Of
            windows, int32, if made with answers: `start_positions` and `end_positions`,
            of the answer's first and last token in the window; `is_impossible`. They
            are 0, 0 and 1 where there is no answer, or not all of it in this window.
        context_starts, context_ends: int32 `(num_tokens,)`. The characters of the
            context that each token stands for; -1 outside of the context.
        is_max_context: bool `(num_tokens,)`. Whether a token of the context has more
            context here than in other windows.
        question_of: int64 `(num_windows,)`. Number of the question of each window.
        lost: Dict from a reason to the number of questions left out for it.
        num_mended: int. Questions whose answer is elsewhere than the file says.
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
    tokenizer,
    *,
    sequence_length=384,
    doc_stride=128,
    max_question_length=64,
    with_answers=True,
):
    """Tokenizes questions and contexts, cuts windows, and finds the answers in them.

    Args:
        questions: list of `Question`.
        tokenizer: One of our tokenizers, or the `encoder` of one.
        sequence_length: int. Most tokens of a window, question and special ones
            included.
        doc_stride: int. Tokens from the start of one window to that of the next.
        max_question_length: int. Tokens that are kept of a question, its first ones.
        with_answers: bool. Whether to find the answers, for training, and to leave out
            questions whose answer is lost; see `find_answers`. Otherwise all questions
            have windows, labelled or not.

    Returns:
        `AnswerWindows`.

    Raises:
        ValueError: If a number is not positive, or there is no room for the context.

    Example:

    >>> from albert_keras.tasks.question_answering.reading import Question
    >>> from albert_keras.tokenizers import WordPieceEncoder
    >>> tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "who", "?", "ann", "bob"]
    >>> question = Question("1", "Who?", "Ann, Bob", answers=(("Bob", 5),))
    >>> windows = make_windows([question], WordPieceEncoder(tokens, lowercase=True))
    >>> windows.examples.token_arrays["token_ids"].tolist()
    [2, 5, 6, 3, 7, 1, 8, 3]
    >>> windows.examples.example_arrays["start_positions"].tolist()
    [6]

    Reference: google-research/albert squad_utils.py `convert_examples_to_features`,
    which has no offsets, and aligns the tokens' characters with the text's.
    """
    _check_lengths(sequence_length, doc_stride, max_question_length)
    encoder = getattr(tokenizer, "encoder", tokenizer)
    contexts = locate_contexts(questions, encoder)
    asked = _encode_questions(questions, encoder, max_question_length)
    room = sequence_length - _NUM_SPECIAL - np.diff(asked[1])
    num_tokens = np.diff(contexts.offsets)[contexts.context_of]
    windows = _cut(num_tokens, room, doc_stride)
    if not with_answers:
        return _join(encoder, asked, contexts, windows, {}, collections.Counter(), 0)
    answers = find_answers(questions, contexts)
    windows, lost = _leave_out_lost(windows, answers)
    arrays = _place_answers(windows, answers, np.diff(asked[1]))
    return _join(encoder, asked, contexts, windows, arrays, lost, answers.num_mended)


class _Windows(NamedTuple):
    """Windows of contexts: of which question, from which token on, and how many."""

    question_of: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray

    def take(self, indices):
        return _Windows(*(array[indices] for array in self))


def _encode_questions(questions, encoder, max_length):
    """Returns the token ids of all questions in a row, and where each one's begin."""
    token_ids, offsets = encoder.encode_ragged([q.question for q in questions])
    lengths = np.minimum(np.diff(offsets), max_length)
    return token_ids[ragged_places(offsets[:-1], lengths)], offsets_of(lengths)


def _cut(num_tokens, room, doc_stride):
    """Cuts contexts into windows; those of each question are in a row.

    Args:
        num_tokens: int `(num_questions,)`. Tokens of each question's context.
        room: int `(num_questions,)`. Tokens of the context that fit in a window.
        doc_stride: int.
    """
    strides = np.minimum(doc_stride, room)
    # All of a context are in windows, and the last one ends with it.
    counts = 1 + -(np.minimum(room - num_tokens, 0) // strides)
    question_of = np.repeat(np.arange(len(num_tokens)), counts)
    starts = ragged_places(np.zeros_like(counts), counts) * strides[question_of]
    lengths = np.minimum(num_tokens[question_of] - starts, room[question_of])
    return _Windows(question_of, starts, lengths)


def _leave_out_lost(windows, answers):
    """Returns the windows of questions that can be trained on, and why not others."""
    num_questions = len(answers.first)
    is_whole = _are_whole(windows, answers)
    in_window = np.bincount(windows.question_of, is_whole, num_questions) > 0
    reasons = np.array(answers.reasons, object)
    reasons[(answers.first >= 0) & ~in_window] = IN_NO_WINDOW
    is_lost = reasons != np.array(None)
    kept = np.flatnonzero(~is_lost[windows.question_of])
    return windows.take(kept), dict(collections.Counter(reasons[is_lost]))


def _are_whole(windows, answers):
    """Says which windows have the whole answer of their question, if it has one."""
    first = answers.first[windows.question_of]
    last = answers.last[windows.question_of]
    is_inside = (first >= windows.starts) & (last < windows.starts + windows.lengths)
    return is_inside & (first >= 0)


def _place_answers(windows, answers, question_lengths):
    is_whole = _are_whole(windows, answers)
    # After [CLS], the question and [SEP].
    shift = 2 + question_lengths[windows.question_of] - windows.starts

    def place(tokens):
        positions = tokens[windows.question_of] + shift
        return np.where(is_whole, positions, 0).astype(np.int32)

    return {
        "start_positions": place(answers.first),
        "end_positions": place(answers.last),
        "is_impossible": (~is_whole).astype(np.int32),
    }


def _join(encoder, asked, contexts, windows, example_arrays, lost, num_mended):
    question_ids, question_offsets = asked
    question_begins = question_offsets[windows.question_of]
    question_lengths = np.diff(question_offsets)[windows.question_of]
    question_ids = question_ids[ragged_places(question_begins, question_lengths)]
    context_begins = contexts.offsets[contexts.context_of[windows.question_of]]
    sources = ragged_places(context_begins + windows.starts, windows.lengths)
    joined = join_pieces(
        encoder,
        [
            (question_ids, offsets_of(question_lengths)),
            (contexts.token_ids[sources], offsets_of(windows.lengths)),
        ],
    )
    targets = ragged_places(joined.offsets[:-1] + 2 + question_lengths, windows.lengths)
    num_tokens = joined.offsets[-1]

    def put(values, rest):
        array = np.full(num_tokens, rest, values.dtype)
        array[targets] = values
        return array

    answer_mask = put(np.ones(len(targets), np.int32), 0)
    answer_mask[joined.offsets[:-1]] = 1
    token_arrays = {**joined.token_arrays, "answer_mask": answer_mask}
    return AnswerWindows(
        examples=Examples(joined.offsets, token_arrays, example_arrays),
        context_starts=put(contexts.spans[sources, 0], -1),
        context_ends=put(contexts.spans[sources, 1], -1),
        is_max_context=put(_have_max_context(windows), False),
        question_of=windows.question_of,
        lost=lost,
        num_mended=num_mended,
    )


def _have_max_context(windows):
    """Says which tokens of windows have more around them than in other windows.

    The smaller number of tokens on both sides counts, and with a hundredth of its weight
    the length of the window; of equal ones the first.

    Returns:
        bool `(num_tokens,)`, of all windows' tokens in a row.

    Reference: google-research/albert squad_utils.py `_check_is_max_context`.
    """
    _, question_of, counts = np.unique(
        windows.question_of, return_inverse=True, return_counts=True
    )
    has_others = counts[question_of] > 1
    is_max = np.ones(windows.lengths.sum(), bool)
    compared = np.flatnonzero(np.repeat(has_others, windows.lengths))
    _, starts, lengths = windows = windows.take(has_others)

    left = ragged_places(np.zeros_like(starts), lengths)
    right = np.repeat(lengths - 1, lengths) - left
    scores = np.minimum(left, right) + 0.01 * np.repeat(lengths, lengths)
    # The same token in several windows.
    ends = np.zeros(len(counts), np.int64)
    np.maximum.at(ends, question_of[has_others], starts + lengths)
    tokens = left + np.repeat(
        (offsets_of(ends)[question_of[has_others]] + starts), lengths
    )
    best = np.zeros(ends.sum())
    np.maximum.at(best, tokens, scores)
    winners = np.flatnonzero(scores == best[tokens])[::-1]
    # What is assigned last remains.
    first_winners = np.zeros(ends.sum(), np.int64)
    first_winners[tokens[winners]] = winners
    is_max[compared] = False
    is_max[compared[first_winners]] = True
    return is_max


def _check_lengths(sequence_length, doc_stride, max_question_length):
    check_positive_integer("sequence_length", sequence_length)
    check_positive_integer("doc_stride", doc_stride)
    check_positive_integer("max_question_length", max_question_length)
    if sequence_length <= max_question_length + _NUM_SPECIAL:
        raise ValueError(
            "A window must have room for context beside the question and the "
            f"{_NUM_SPECIAL} special tokens. Received: "
            f"sequence_length={sequence_length}, "
            f"max_question_length={max_question_length}. Lower the latter."
        )
