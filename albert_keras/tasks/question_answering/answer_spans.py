"""Which tokens of its context an answer is."""

import bisect
from typing import NamedTuple

import numpy as np

from albert_keras.tasks.question_answering.answer_texts import normalize_answer

# Why an answer is lost to training.
UNLABELLED = "no answer given"
NOT_IN_CONTEXT = "text not in the context"
NOT_ON_BORDERS = "not on token borders"
IN_NO_WINDOW = "whole in no window"


class LocatedContexts(NamedTuple):
    """The tokens of some questions' contexts, each different context once.

    Attributes:
        token_ids: int32 `(num_tokens,)`. Of all contexts in a row.
        offsets: int64 `(num_contexts + 1,)`. Where each context's tokens begin, and the
            last one's end.
        spans: int32 `(num_tokens, 2)`. The characters that each token stands for.
        context_of: int64 `(num_questions,)`. Number of each question's context.
    """

    token_ids: np.ndarray
    offsets: np.ndarray
    spans: np.ndarray
    context_of: np.ndarray


class AnswerSpans(NamedTuple):
    """The tokens of the answers to some questions.

    Attributes:
        first, last: int64 `(num_questions,)`. Numbers, in their context, of the first
            and of the last token of each answer; -1 where there is none.
        reasons: list. For each question None, or why its answer is lost.
        num_mended: int. Answers found elsewhere than the file says.
    """

    first: np.ndarray
    last: np.ndarray
    reasons: list
    num_mended: int


def locate_contexts(questions, encoder):
    """Tokenizes the contexts of questions.

    Args:
        questions: list of `Question`.
        encoder: The `encoder` of one of our tokenizers.

    Returns:
        `LocatedContexts`.
    """
    numbers = {}
    context_of = [numbers.setdefault(q.context, len(numbers)) for q in questions]
    encoded = encoder.encode_ragged_with_spans(list(numbers))
    return LocatedContexts(*encoded, np.array(context_of, np.int64))


def find_answers(questions, contexts):
    """Finds the tokens of answers.

    An answer is the shortest run of tokens that covers it. It counts if the context, cut
    at those tokens, gives the same to `normalize_answer`; of several answers to a
    question the first that counts is taken. Where the text is not at its start in the
    file, or in the midst of tokens, the nearest place is taken where it is not.

    Args:
        questions: list of `Question`.
        contexts: their `LocatedContexts`.

    Returns:
        `AnswerSpans`.
    """
    rows = [(-1, -1, None, False)] * len(questions)
    order = np.argsort(contexts.context_of, kind="stable").tolist()
    located = None
    for row in order:
        question = questions[row]
        if question.is_impossible:
            continue
        number = contexts.context_of[row]
        if number != located:
            located = number
            starts, ends = _spans_of(contexts, number)
        rows[row] = _find_answer(question, starts, ends)
    first, last, reasons, are_mended = zip(*rows, strict=True) if rows else [()] * 4
    return AnswerSpans(
        np.array(first, np.int64),
        np.array(last, np.int64),
        list(reasons),
        sum(are_mended),
    )


def _spans_of(contexts, number):
    """Returns where the tokens of a context start and end, two lists."""
    begin, end = contexts.offsets[number : number + 2]
    return contexts.spans[begin:end].T.tolist()


def _find_answer(question, starts, ends):
    """Returns the first and last token, why there is none, and whether it was mended."""
    reasons = []
    for text, start in question.answers:
        reasons.append(NOT_IN_CONTEXT)
        for place in _places(text, question.context, start):
            first = bisect.bisect_right(ends, place)
            last = bisect.bisect_left(starts, place + len(text)) - 1
            if first <= last:
                found = question.context[starts[first] : ends[last]]
                if found == text or normalize_answer(found) == normalize_answer(text):
                    return first, last, None, place != start
            reasons[-1] = NOT_ON_BORDERS
    return -1, -1, (reasons or [UNLABELLED])[0], False


def _places(text, context, start):
    """Yields where a text stands in a context, the nearest to `start` first."""
    if not text.strip():
        return
    if start >= 0 and context.startswith(text, start):
        yield start
    others = []
    place = context.find(text)
    while place >= 0:
        others.append(place)
        place = context.find(text, place + 1)
    yield from sorted(set(others) - {start}, key=lambda place: abs(place - start))
