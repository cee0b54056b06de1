"""Decoder of answers: from the scores of windows to texts and null scores."""

from typing import NamedTuple

import numpy as np

from albert_keras.tasks.metrics import check_finite_outputs
from albert_keras.tokenizers.words import spelling_of, whole_words


class Candidate(NamedTuple):
    """A part of a context that may be the answer. `start` is its first character.

    The score is the sum of the scores of start and end: log-probabilities with the joint
    head, logits with the plain one. The probability is the softmax of the scores over
    the question's candidates.
    """

    text: str
    start: int
    score: float
    probability: float


class Answer(NamedTuple):
    """A model's answer to the question with an id.

    Attributes:
        text: str. The best candidate's text; "" if there is no candidate.
        null_score: float. The higher, the less likely is an answer; see `decode_answers`.
        candidates: tuple of `Candidate` with different texts, best first.
    """

    id: str
    text: str
    null_score: float
    candidates: tuple


def decode_answers(questions, windows, batches, *, max_answer_length=30, num_best=20):
    """Finds the best answers to questions from the scores of their windows.

    A span is valid if it is in the context, does not end before its start, has at most
    `max_answer_length` tokens, and starts where no other window has more context. Each
    window gives its `num_best` best valid spans; among equal scores the first start, then
    the first end. Each question takes the best spans with different texts, extended to
    whole words. The answer to a question without valid spans is "".

    There are two kinds of scores, recognized by the names of the outputs:

    *   `start_logits` and `end_logits` `(batch, length)` of `AlbertQuestionAnswerer`.
        The score of a span is their sum, not normalized, as in the original. The null
        score is BERT's null odds: the score of [CLS] as a span, the minimum over the
        windows, minus the score of the best span, or 0 without spans.
    *   The outputs of `AlbertJointQuestionAnswerer.beam_model`. The null score is the
        minimum of `answerability_logits` over the windows.

    Args:
        questions: list of `Question`.
        windows: Their `AnswerWindows`, made without answers.
        batches: Iterable of tuples `(rows, outputs)`: numbers of windows, int `(batch,)`,
            and the dict of a model's outputs for them, NumPy arrays. Each window comes
            once, in any order.
        max_answer_length: int. Maximum number of tokens of an answer. Default 30.
        num_best: int. Maximum number of candidates of a question. Default 20.

    Returns:
        List with an `Answer` for each question.

    Raises:
        ValueError: If a score is NaN or +inf, as from a diverged model.

    Reference: google-research/albert squad_utils.py `accumulate_predictions_v1`,
    `accumulate_predictions_v2`, `write_predictions_v1`, `write_predictions_v2`.
    """
    is_relative = False
    found = []
    null_scores = np.full(len(windows.question_of), np.nan)
    for rows, outputs in batches:
        _check_scores(windows, rows, outputs)
        is_relative = "start_logits" in outputs
        decode = _spans_of_logits if is_relative else _spans_of_beam
        spans, null_scores[rows] = decode(
            windows, rows, outputs, max_answer_length, num_best
        )
        found.append(_best_spans(rows, spans, num_best))
    # (num_questions,)
    nulls = np.full(len(questions), np.inf)
    np.minimum.at(nulls, windows.question_of, null_scores)
    answers = []
    candidates = _candidates_of(questions, windows, found, num_best)
    for question, chosen, null_score in zip(questions, candidates, nulls, strict=True):
        best = chosen[0] if chosen else Candidate("", 0, 0.0, 0.0)
        null_score = float(null_score) - (best.score if is_relative else 0.0)
        answers.append(Answer(question.id, best.text, null_score, chosen))
    return answers


def apply_threshold(answers, threshold):
    """Returns the answers' texts by question id, "" above the threshold.

    A question has no answer if its null score is greater than `threshold`, as in the
    official script (the original's code compares with >=). With None, all questions have
    an answer.

    Example:

    >>> answers = [Answer("1", "yes", -2.0, ()), Answer("2", "no", 3.5, ())]
    >>> apply_threshold(answers, 0.0)
    {'1': 'yes', '2': ''}
    """
    limit = np.inf if threshold is None else threshold
    return {a.id: "" if a.null_score > limit else a.text for a in answers}


def _spans_of_logits(windows, rows, outputs, max_answer_length, num_best):
    """Returns scores (-inf if invalid), starts and ends of spans, and null scores."""
    # (batch, length)
    start_logits = outputs["start_logits"].astype(np.float64)
    end_logits = outputs["end_logits"].astype(np.float64)
    null_scores = start_logits[:, 0] + end_logits[:, 0]
    may_start, may_end = _limits(windows, rows, start_logits.shape[1])
    start_logits = np.where(may_start, start_logits, -np.inf)
    end_logits = np.where(may_end, end_logits, -np.inf)
    # The ends for each start, (batch, length, max_answer_length).
    beyond = [(0, 0), (0, max_answer_length - 1)]
    end_logits = np.lib.stride_tricks.sliding_window_view(
        np.pad(end_logits, beyond, constant_values=-np.inf), max_answer_length, axis=1
    )
    # The best spans begin at the best starts, compared with their best ends.
    order = np.argsort(-(start_logits + end_logits.max(axis=2)), axis=1, kind="stable")
    # (batch, num_best, 1)
    starts = np.sort(order[:, :num_best], axis=1)[:, :, np.newaxis]
    scores = np.take_along_axis(start_logits[:, :, np.newaxis], starts, 1)
    scores = scores + np.take_along_axis(end_logits, starts, 1)
    return (scores, starts, starts + np.arange(max_answer_length)), null_scores


def _spans_of_beam(windows, rows, outputs, max_answer_length, num_best):
    """Returns scores (-inf if invalid), starts and ends of spans, and null scores."""
    # (batch, k, 1) and (batch, k, m)
    starts = outputs["start_positions"].astype(np.int64)[:, :, np.newaxis]
    ends = outputs["end_positions"].astype(np.int64)
    start_scores = outputs["start_log_probs"].astype(np.float64)[:, :, np.newaxis]
    scores = start_scores + outputs["end_log_probs"].astype(np.float64)
    may_start, may_end = _limits(windows, rows, 1 + max(starts.max(), ends.max()))
    batch = np.arange(len(rows))[:, np.newaxis, np.newaxis]
    is_valid = may_start[batch, starts] & may_end[batch, ends] & (starts <= ends)
    is_valid &= ends - starts < max_answer_length
    null_scores = outputs["answerability_logits"].reshape(len(rows))
    return (np.where(is_valid, scores, -np.inf), starts, ends), null_scores


def _limits(windows, rows, length):
    """Returns where answers may start, and may end, each bool `(batch, length)`."""
    offsets = windows.examples.offsets
    positions = offsets[rows][:, np.newaxis] + np.arange(length)
    is_token = positions < offsets[rows + 1][:, np.newaxis]
    positions = np.where(is_token, positions, 0)
    is_context = is_token & (windows.context_starts[positions] >= 0)
    return is_context & windows.is_max_context[positions], is_context


def _best_spans(rows, spans, num_best):
    """Returns the window, score, start and end of the best valid spans."""
    # (batch, num_spans)
    arrays = np.broadcast_arrays(*spans)
    scores, starts, ends = (array.reshape(len(rows), -1) for array in arrays)
    order = np.lexsort((ends, starts, -scores), axis=1)[:, :num_best]
    window_of = np.repeat(rows[:, np.newaxis], order.shape[1], axis=1)
    best = (np.take_along_axis(array, order, 1) for array in (scores, starts, ends))
    scores, starts, ends = best
    is_valid = scores > -np.inf
    return [array[is_valid] for array in (window_of, scores, starts, ends)]


def _candidates_of(questions, windows, found, num_best):
    """Yields the candidates of each question, from the best spans of its windows."""
    window_of, scores, first, last = map(np.concatenate, zip(*found, strict=True))
    # By question, then score, then place.
    order = np.lexsort((window_of, -scores, windows.question_of[window_of]))
    begins = windows.examples.offsets[window_of]
    starts = windows.context_starts[begins + first][order].tolist()
    ends = windows.context_ends[begins + last][order].tolist()
    scores = scores[order].tolist()
    numbers = np.arange(len(questions) + 1)
    bounds = np.searchsorted(windows.question_of[window_of][order], numbers).tolist()
    spans = list(zip(starts, ends, scores, strict=True))
    for number, question in enumerate(questions):
        found = spans[bounds[number] : bounds[number + 1]]
        yield best_candidates(question.context, found, num_best)


def best_candidates(context, positions, num_best):
    """Returns the best spans with different texts, a tuple of `Candidate`.

    `positions` has the start and end, in characters, and the score of spans, best first.
    They are extended to whole words.
    """
    chosen, spelling = {}, spelling_of(context)
    for start, end, score in positions:
        # A last token without characters ends where the next word begins. An empty text
        # would mean that the question has no answer.
        if text := context[start:end].rstrip():
            start, end = whole_words(spelling, start, start + len(text))
            chosen.setdefault(context[start:end], (start, score))
        if len(chosen) == num_best:
            break
    scores = np.array([score for _, score in chosen.values()])
    weights = np.exp(scores - scores.max(initial=-np.inf))
    probabilities = (weights / weights.sum()).tolist()
    found = zip(chosen.items(), probabilities, strict=True)
    return tuple(Candidate(text, *place, share) for (text, place), share in found)


def _check_scores(windows, rows, outputs):
    """Checks that the scores of all tokens in windows are numbers or -inf."""
    lengths = windows.examples.lengths[rows, np.newaxis]
    for name, output in outputs.items():
        output = output.reshape(len(rows), -1)
        is_ignored = output == -np.inf
        if name in ("start_logits", "end_logits"):
            is_ignored |= np.arange(output.shape[1]) >= lengths
        check_finite_outputs(np.where(is_ignored, 0.0, output))
