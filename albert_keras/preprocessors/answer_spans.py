"""Token spans of answers in their contexts."""

import bisect
import functools
import re
import string
from typing import NamedTuple

import numpy as np

_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


class Question(NamedTuple):
    """A question about a text, with its reference answers.

    Attributes:
        id: str.
        question: str.
        context: str. The text that may hold the answer.
        answers: tuple of `(text, start)`: a str, and the position of its first character
            in `context` according to the file, which may be wrong. May be empty.
        is_impossible: bool. Whether the context has no answer according to the file.
    """

    id: str
    question: str
    context: str
    answers: tuple = ()
    is_impossible: bool = False


class LocatedContexts(NamedTuple):
    """Tokenized contexts of questions, without duplicates.

    Context `i` has the tokens from `offsets[i]` to `offsets[i + 1]`. `spans` are their
    starts and ends in the characters of the context.
    """

    token_ids: np.ndarray  # int32 (num_tokens,)
    offsets: np.ndarray  # int64 (num_contexts + 1,)
    spans: np.ndarray  # int32 (num_tokens, 2)
    context_of: np.ndarray  # int64 (num_questions,)


@functools.lru_cache(2**16)
def normalize_answer(text):
    """Returns a text in lower case without punctuation, articles and extra spaces.

    Example:

    >>> normalize_answer(" The  U.S. dollar,")
    'us dollar'

    Reference: Rajpurkar et al. 2016, section 6.1; `normalize_answer` of the official
    scripts: ASCII punctuation is removed first, then English articles.
    """
    plain = text.lower().translate(_WITHOUT_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", plain).split())


def locate_contexts(questions, encoder):
    """Tokenizes each different context of questions once."""
    numbers = {}
    context_of = [numbers.setdefault(q.context, len(numbers)) for q in questions]
    encoded = encoder.encode_ragged_with_spans(list(numbers))
    return LocatedContexts(*encoded, np.array(context_of, np.int64))


def find_answers(questions, contexts):
    """Finds the token spans of answers in `LocatedContexts`.

    The span of an answer is the shortest one that covers its text. It is valid if its
    text equals the answer after `normalize_answer`. If the text is not at the given
    position, or not on token borders, the nearest valid position counts. Of several
    answers to a question, the first valid one counts.

    Returns:
        Tuple of int64 `(num_questions, 2)`, the positions of each answer's first and last
        token in its context, -1 without answer; a list with `None`, or the reason why the
        answer is lost, for each question; and the number of answers found at another
        position than the file states.
    """
    found, located = [], None
    for question, number in zip(questions, contexts.context_of.tolist(), strict=True):
        # Questions about the same context usually follow each other.
        if number != located:
            located = number
            begin, end = contexts.offsets[number : number + 2]
            starts, ends = contexts.spans[begin:end].T.tolist()
        found.append(_find_answer(question, starts, ends))
    spans, reasons, are_mended = zip(*found, strict=True) if found else ((), (), ())
    return np.array(spans, np.int64).reshape(-1, 2), [*reasons], sum(are_mended)


def _find_answer(question, starts, ends):
    """Returns first and last token, the reason if lost, and whether the start is new."""
    if question.is_impossible:
        return (-1, -1), None, False
    reasons = []
    for text, start in question.answers:
        reasons.append("text not in the context")
        for position in _positions(text, question.context, start):
            first = bisect.bisect_right(ends, position)
            last = bisect.bisect_left(starts, position + len(text)) - 1
            if first <= last:
                found = question.context[starts[first] : ends[last]]
                if found == text or normalize_answer(found) == normalize_answer(text):
                    return (first, last), None, position != start
            reasons[-1] = "not on token borders"
    return (-1, -1), (reasons or ["no answer given"])[0], False


def _positions(text, context, start):
    """Yields the positions of a text in a context, the nearest to `start` first."""
    if not text.strip():
        return
    if start >= 0 and context.startswith(text, start):
        yield start
    # A lookahead, because occurrences may overlap.
    found = [match.start() for match in re.finditer(f"(?={re.escape(text)})", context)]
    yield from sorted(found, key=lambda position: abs(position - start))
