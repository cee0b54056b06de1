"""Decoding of answers from the scores of windows: texts, probabilities, null scores."""

from typing import NamedTuple

import numpy as np

from albert_keras.checks import check_positive_integer, is_number


class Candidate(NamedTuple):
    """A text that may answer a question.

    Attributes:
        text: str, a part of the question's context.
        start: int. Position of its first character in the context.
        score: float. Score of its start plus that of its end: log-probabilities with
            the joint head, logits with the plain one.
        probability: float. Softmax of the scores over the question's candidates.
    """

    text: str
    start: int
    score: float
    probability: float


class Answer(NamedTuple):
    """A model's answer to a question.

    Attributes:
        id: str. The question's id.
        text: str. The best candidate's text; "" if there is no candidate.
        null_score: float. The higher, the less likely there is an answer; see
            `decode_answers`.
        candidates: tuple of `Candidate` with different texts, best first.
    """

    id: str
    text: str
    null_score: float
    candidates: tuple


def decode_answers(questions, windows, batches, *, max_answer_length=30, num_best=20):
    """Finds the best answers to questions from the scores of their windows.

    A span is valid if it lies in the context, does not end before its start, is at most
    `max_answer_length` tokens long, and starts where no other window has more context.
    Each window gives its `num_best` best valid spans (of equal ones those that start,
    then end, first), and each question takes the best ones with different texts. A
    question without valid spans is answered by "".

    There are two kinds of scores, recognized by the names of the outputs:

    *   `start_logits` and `end_logits` `(batch, length)` of `AlbertQuestionAnswerer`.
        The score of a span is their sum, not normalized, as in the original. The null
        score is that of [CLS] as a span, the minimum over the windows, minus the best
        span's score (minus 0 without spans): BERT's null odds.
    *   The beam of `AlbertJointQuestionAnswerer`: `start_log_probs`, `start_positions`
        `(batch, k)`; `end_log_probs`, `end_positions` `(batch, k, m)`;
        `answerability_logits` `(batch,)`, whose minimum over the windows is the null
        score.

    Args:
        questions: list of `Question`.
        windows: Their `AnswerWindows`, made without answers.
        batches: Iterable of tuples `(rows, outputs)`: numbers of windows, int `(batch,)`,
            and the dict of a model's outputs for them. In any order; each window once.
        max_answer_length: int. Maximum number of tokens of an answer. Default 30.
        num_best: int. Maximum number of candidates of a question. Default 20.

    Returns:
        List of `Answer`, one a question.

    Raises:
        ValueError: If a score is NaN or +inf, as from a diverged model, or a question
            has no window, or a window no scores.

    Reference: google-research/albert squad_utils.py `accumulate_predictions_v1`,
    `accumulate_predictions_v2`, `write_predictions_v1`, `write_predictions_v2`.
    """
    check_positive_integer("max_answer_length", max_answer_length)
    check_positive_integer("num_best", num_best)
    _check_windows(questions, windows)
    is_relative = False
    found = [(np.zeros(0, int), _Spans(*np.zeros((3, 0, num_best)), np.zeros(0)))]
    for rows, outputs in batches:
        rows = np.asarray(rows)
        outputs = {name: np.asarray(output) for name, output in outputs.items()}
        _check_scores(questions, windows, rows, outputs)
        is_relative = "start_logits" in outputs
        decode = _spans_of_logits if is_relative else _spans_of_beam
        spans = decode(windows, rows, outputs, max_answer_length, num_best)
        found.append((rows, _take_best(spans, num_best)))
    rows, spans = zip(*found, strict=True)
    rows = np.concatenate(rows)
    _check_complete(questions, windows, rows)
    order = np.argsort(rows)
    parts = zip(*spans, strict=True)
    spans = _Spans(*(np.concatenate(part)[order] for part in parts))
    return _choose(questions, windows, spans, num_best, is_relative)


def apply_threshold(answers, threshold):
    """Returns the answers' texts by question id, "" above the threshold.

    Args:
        answers: list of `Answer`.
        threshold: float, or None to answer all questions. A question is not answered if
            its null score is greater, as in the official script; the original's code
            does not answer at an equal one either.

    Raises:
        ValueError: If the threshold is not a number.

    Example:

    >>> answers = [Answer("1", "yes", -2.0, ()), Answer("2", "no", 3.5, ())]
    >>> apply_threshold(answers, 0.0)
    {'1': 'yes', '2': ''}
    """
    if threshold is None:
        return {answer.id: answer.text for answer in answers}
    if not is_number(threshold) or np.isnan(threshold):
        raise ValueError(
            f"`threshold` must be a number, or None. Received: threshold={threshold!r}."
        )
    return {a.id: "" if a.null_score > threshold else a.text for a in answers}


class _Spans(NamedTuple):
    """Spans of windows; the score of an invalid one is -inf.

    Attributes:
        scores: float64 `(num_windows, ...)`.
        starts, ends: int64, of the same shape or one that broadcasts to it. First and
            last token in the window.
        null_scores: float64 `(num_windows,)`.
    """

    scores: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    null_scores: np.ndarray


def _spans_of_logits(windows, rows, outputs, max_answer_length, num_best):
    # (batch, length)
    start_logits = outputs["start_logits"].astype(np.float64)
    end_logits = outputs["end_logits"].astype(np.float64)
    null_scores = start_logits[:, 0] + end_logits[:, 0]
    length = start_logits.shape[1]
    positions = np.broadcast_to(np.arange(length), start_logits.shape)
    may_start, may_end = _limits(windows, rows, positions)
    start_logits = np.where(may_start, start_logits, -np.inf)
    end_logits = np.where(may_end, end_logits, -np.inf)
    # The ends that each start may have, (batch, length, max_answer_length).
    beyond = [(0, 0), (0, max_answer_length - 1)]
    end_logits = np.lib.stride_tricks.sliding_window_view(
        np.pad(end_logits, beyond, constant_values=-np.inf), max_answer_length, axis=1
    )
    # The best spans begin at the starts that are best with their best ends.
    order = np.argsort(-(start_logits + end_logits.max(axis=2)), axis=1, kind="stable")
    # (batch, num_best, 1)
    starts = np.sort(order[:, :num_best], axis=1)[:, :, np.newaxis]
    scores = np.take_along_axis(start_logits[:, :, np.newaxis], starts, 1)
    scores = scores + np.take_along_axis(end_logits, starts, 1)
    return _Spans(scores, starts, starts + np.arange(max_answer_length), null_scores)


def _spans_of_beam(windows, rows, outputs, max_answer_length, num_best):
    # (batch, k, 1) and (batch, k, m)
    starts = outputs["start_positions"].astype(np.int64)[:, :, np.newaxis]
    ends = outputs["end_positions"].astype(np.int64)
    start_scores = outputs["start_log_probs"].astype(np.float64)[:, :, np.newaxis]
    scores = start_scores + outputs["end_log_probs"].astype(np.float64)
    may_start, _ = _limits(windows, rows, starts)
    _, may_end = _limits(windows, rows, ends)
    is_valid = may_start & may_end & (starts <= ends)
    is_valid &= ends - starts < max_answer_length
    null_scores = outputs["answerability_logits"].reshape(len(rows))
    return _Spans(np.where(is_valid, scores, -np.inf), starts, ends, null_scores)


def _limits(windows, rows, positions):
    """Returns at which tokens of windows an answer may start, and at which it may end.

    Args:
        rows: int `(batch,)`. Numbers of the windows.
        positions: int `(batch, ...)`. Tokens of each window.

    Returns:
        Two bool arrays `(batch, ...)`.
    """
    per_row = (-1,) + (1,) * (positions.ndim - 1)
    begins = windows.examples.offsets[rows].reshape(per_row)
    ends = windows.examples.offsets[rows + 1].reshape(per_row)
    index = begins + positions
    is_token = (index >= begins) & (index < ends)
    index = np.where(is_token, index, begins)
    is_context = is_token & (windows.context_starts[index] >= 0)
    return is_context & windows.is_max_context[index], is_context


def _take_best(spans, num_best):
    """Returns the best spans of each window, best first, `(batch, num_best)`."""
    arrays = np.broadcast_arrays(*spans[:3])
    scores, starts, ends = (array.reshape(len(array), -1) for array in arrays)
    order = np.lexsort((ends, starts, -scores), axis=1)[:, :num_best]
    missing = [(0, 0), (0, num_best - order.shape[1])]
    best = (
        np.pad(np.take_along_axis(array, order, 1), missing, constant_values=rest)
        for array, rest in ((scores, -np.inf), (starts, 0), (ends, 0))
    )
    return _Spans(*best, spans.null_scores)


def _choose(questions, windows, spans, num_best, is_relative):
    """Returns each question's `Answer`, of the spans of all its windows."""
    # (num_spans,), of all valid spans, by question and then by score.
    window_of, rank = np.nonzero(spans.scores > -np.inf)
    scores = spans.scores[window_of, rank]
    order = np.lexsort((-scores, windows.question_of[window_of]))
    window_of, rank, scores = window_of[order], rank[order], scores[order].tolist()
    begins = windows.examples.offsets[window_of]
    first, last = (array[window_of, rank].astype(int) for array in spans[1:3])
    starts = windows.context_starts[begins + first].tolist()
    ends = windows.context_ends[begins + last].tolist()
    numbers = np.arange(len(questions) + 1)
    bounds = np.searchsorted(windows.question_of[window_of], numbers).tolist()
    null_scores = np.full(len(questions), np.inf)
    np.minimum.at(null_scores, windows.question_of, spans.null_scores)
    answers = []
    for number, question in enumerate(questions):
        found = slice(bounds[number], bounds[number + 1])
        positions = zip(starts[found], ends[found], scores[found], strict=True)
        candidates = _candidates(question.context, positions, num_best)
        null_score = float(null_scores[number])
        if is_relative and candidates:
            null_score -= candidates[0].score
        text = candidates[0].text if candidates else ""
        answers.append(Answer(question.id, text, null_score, candidates))
    return answers


def _candidates(context, positions, num_best):
    """Returns the best spans with different texts, a tuple of `Candidate`.

    Args:
        context: str.
        positions: Iterable of start and end, in characters, and score, best first.
        num_best: int. Maximum number of candidates.
    """
    chosen = {}
    for start, end, score in positions:
        # A last token without characters ends where the next word begins. An empty text
        # would mean that there is no answer.
        text = context[start:end].rstrip()
        if text:
            chosen.setdefault(text, (start, score))
        if len(chosen) == num_best:
            break
    scores = np.array([score for _, score in chosen.values()])
    weights = np.exp(scores - scores.max(initial=-np.inf))
    probabilities = (weights / weights.sum()).tolist()
    return tuple(
        Candidate(text, *position, probability)
        for (text, position), probability in zip(
            chosen.items(), probabilities, strict=True
        )
    )


def _check_windows(questions, windows):
    num_windows = np.bincount(windows.question_of, minlength=len(questions))
    if len(num_windows) != len(questions) or not num_windows.all():
        raise ValueError(
            "Each question must have a window. "
            f"Received: {len(questions)} questions, and windows of "
            f"{np.count_nonzero(num_windows)} among {len(num_windows)}. "
            "Make windows of the same questions, with_answers=False."
        )


def _check_scores(questions, windows, rows, outputs):
    """Checks that the scores of all tokens of windows are numbers or -inf."""
    lengths = windows.examples.lengths[rows]
    for name, output in outputs.items():
        output = output.reshape(len(rows), -1)
        is_wrong = ~(output < np.inf)
        if name in ("start_logits", "end_logits"):
            if output.shape[1] < lengths.max(initial=0):
                raise ValueError(
                    "Each token of a window must have a score. "
                    f"Received: {name} of {output.shape[1]} tokens for a window of "
                    f"{lengths.max()}."
                )
            is_wrong &= np.arange(output.shape[1]) < lengths[:, np.newaxis]
        if is_wrong.any():
            row, column = np.argwhere(is_wrong)[0]
            question = questions[windows.question_of[rows[row]]]
            raise ValueError(
                "Scores must be numbers. "
                f"Received: {name} with {output[row, column]} for question "
                f"{question.id!r}. The model has probably diverged."
            )


def _check_complete(questions, windows, rows):
    missing = np.setdiff1d(np.arange(len(windows.question_of)), rows)
    if missing.size:
        raise ValueError(
            f"Each window must have scores. Received: {missing.size} of "
            f"{len(windows.question_of)} without, the first one of question "
            f"{questions[windows.question_of[missing[0]]].id!r}."
        )
