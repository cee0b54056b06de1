"""Windows of contexts, against the original's rules, and positions of answers."""

import numpy as np
import pytest

from albert_keras.preprocessors.answer_spans import Question
from albert_keras.preprocessors.answer_windows import make_windows
from albert_keras.tokenizers import WordPieceEncoder

TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz"]
CLS, SEP = 2, 3
LENGTHS = {"sequence_length": 67, "doc_stride": 29, "max_question_length": 13}


@pytest.fixture(scope="module")
def encoder():
    return WordPieceEncoder(TOKENS, lowercase=True)


def letters(number, shift=0):
    """Returns words of one letter, in the order of the alphabet."""
    return " ".join(TOKENS[5 + (i + shift) % 26] for i in range(number))


def ask(num_question=3, num_context=20, *answers, name="q", **more):
    context = letters(num_context)
    return Question(name, letters(num_question, 7), context, answers, **more)


def rows_of(windows, values):
    return [part.tolist() for part in np.split(values, windows.examples.offsets[1:-1])]


def plain_windows(num_tokens, room, stride):
    """The original's loop."""
    windows = []
    start = 0
    while start < num_tokens:
        length = min(num_tokens - start, room)
        windows.append((start, length))
        if start + length == num_tokens:
            break
        start += min(length, stride)
    return windows or [(0, 0)]


def is_max_context(windows, index, token):
    """The original's comparison of all windows for one token."""
    best_score, best_index = None, None
    for i, (start, length) in enumerate(windows):
        if start <= token < start + length:
            left, right = token - start, start + length - 1 - token
            score = min(left, right) + 0.01 * length
            if best_score is None or score > best_score:
                best_score, best_index = score, i
    return best_index == index


@pytest.mark.parametrize("doc_stride", [1, 4, 7, 30])
@pytest.mark.parametrize("max_question_length", [2, 6])
def test_windows_of_the_original(encoder, doc_stride, max_question_length):
    sizes = [(3, 20), (5, 0), (0, 31), (9, 14), (1, 9), (2, 8), (3, 7), (4, 1)]
    questions = [ask(*size, name=str(i)) for i, size in enumerate(sizes)]
    lengths = {"doc_stride": doc_stride, "max_question_length": max_question_length}
    lengths = {"sequence_length": 15, **lengths}
    received = make_windows(questions, encoder, **lengths, with_answers=False)
    expected, question_of, context_places, max_context = [], [], [], []
    for i, (num_question, num_context) in enumerate(sizes):
        kept = min(num_question, max_question_length)
        windows = plain_windows(num_context, 15 - 3 - kept, doc_stride)
        question = [5 + (n + 7) % 26 for n in range(kept)]
        for index, (start, length) in enumerate(windows):
            tokens = range(start, start + length)
            context = [5 + token % 26 for token in tokens]
            expected.append([CLS, *question, SEP, *context, SEP])
            question_of.append(i)
            outside = [-1] * (kept + 2)
            # A letter and a space for each token.
            context_places.append([*outside, *(2 * t for t in tokens), -1])
            is_max = [is_max_context(windows, index, token) for token in tokens]
            max_context.append([False] * (kept + 2) + is_max + [False])
    assert rows_of(received, received.examples.token_arrays["token_ids"]) == expected
    assert received.question_of.tolist() == question_of
    assert rows_of(received, received.context_starts) == context_places
    ends = [[p + 1 if p >= 0 else -1 for p in row] for row in context_places]
    assert rows_of(received, received.context_ends) == ends
    assert rows_of(received, received.is_max_context) == max_context
    assert received.examples.example_arrays == {}
    assert (received.lost, received.num_mended) == ({}, 0)


def test_gold_positions_cut_the_gold_text(encoder):
    random = np.random.default_rng(5)
    questions = []
    for name in range(70):
        first, length = random.integers(0, 40), random.integers(1, 12)
        context = letters(60, name)
        text = context[2 * first : 2 * (first + length) - 1]
        questions.append(Question(str(name), "a b", context, ((text, 2 * first),)))
    lengths = {"sequence_length": 24, "doc_stride": 5, "max_question_length": 3}
    windows = make_windows(questions, encoder, **lengths)
    assert windows.lost == {}
    arrays = windows.examples.example_arrays
    found = set()
    for window, question in enumerate(windows.question_of):
        if arrays["is_impossible"][window]:
            continue
        begin = windows.examples.offsets[window]
        start = windows.context_starts[begin + arrays["start_positions"][window]]
        end = windows.context_ends[begin + arrays["end_positions"][window]]
        text, at = questions[question].answers[0]
        assert questions[question].context[start:end] == text
        assert start == at
        found.add(int(question))
    assert found == set(range(70))


def test_questions_with_lost_answers_are_left_out(encoder):
    long = letters(12)
    questions = [
        ask(2, 20, ("1", 0), name="absent"),
        ask(2, 20, (long, 0), name="long"),
        ask(2, 20, ("b", 0), name="mended"),
        ask(2, 20, ("z", 3), name="absent too"),
    ]
    arguments = {"sequence_length": 13, "doc_stride": 3, "max_question_length": 4}
    windows = make_windows(questions, encoder, **arguments)
    assert windows.lost == {"text not in the context": 2, "whole in no window": 1}
    assert windows.num_mended == 1
    assert windows.question_of.tolist() == [2] * 5
    assert windows.examples.num_examples == 5
    for options in ({"with_answers": False}, {"drops_lost": False}):
        every = make_windows(questions, encoder, **options, **arguments)
        assert np.bincount(every.question_of).tolist() == [5] * 4
    is_impossible = every.examples.example_arrays["is_impossible"]
    assert set(every.question_of[is_impossible == 0]) == {2}
    nothing = make_windows(questions[:1], encoder, **arguments)
    assert nothing.examples.num_examples == 0
    assert len(nothing.context_starts) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sequence_length": 16}, "room for context .*=16, max_question_length=13"),
        ({"doc_stride": 0}, "`doc_stride` must be a positive integer.*doc_stride=0"),
        ({"max_question_length": -1}, "`max_question_length` .*=-1"),
        ({"sequence_length": 9.5}, "`sequence_length` .*=9.5"),
    ],
)
def test_impossible_lengths(encoder, arguments, message):
    with pytest.raises(ValueError, match=message):
        make_windows([ask()], encoder, **{**LENGTHS, **arguments})


def test_masks_and_segments(encoder):
    lengths = {"sequence_length": 8, "doc_stride": 4, "max_question_length": 3}
    windows = make_windows([ask(2, 5)], encoder, **lengths, with_answers=False)
    arrays = windows.examples.token_arrays
    assert {array.dtype for array in arrays.values()} == {np.dtype("int32")}
    assert rows_of(windows, arrays["answer_mask"])[0] == [1, 0, 0, 0, 1, 1, 1, 0]
    assert rows_of(windows, arrays["segment_ids"])[0] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert windows.context_starts.dtype == windows.context_ends.dtype == np.int32
    assert windows.is_max_context.dtype == bool
