"""From the scores of windows to answers: which text, how probable, or none."""

from typing import NamedTuple

import numpy as np

from albert_keras.checks import check_positive_integer, is_number


class Candidate(NamedTuple):
    """A text that may answer a question.

    Attributes:
        text: str, cut from the question's context.
        start: int. Where it begins in the context, in characters.
        score: float. Of its start plus that of its end: log-probabilities of the joint
            head, logits of the plain one.
        probability: float. Among the candidates of the question.
    """

    text: str
    start: int
    score: float
    probability: float


class Answer(NamedTuple):
    """What a model answers to a question.

    Attributes:
        id: str, the question's.
        text: str. The best candidate's; "" if there is none.
        null_score: float. The higher, the more there is no answer: see
            `decode_answers`.
        candidates: tuple of `Candidate`, the best first, each with another text.
    """

    id: str
    text: str
    null_score: float
    candidates: tuple


def decode_answers(questions, windows, batches, *, max_answer_length=30, num_best=20):
    """Finds the best answers to questions from the scores of their windows.

    A span may be an answer if it lies in the context, ends where it starts or later, is
    short enough, and starts where no other window has more context. Of each window the
    best `num_best` spans are taken, of equal ones those that start, then end, earlier;
    of all windows of a question the best ones with different texts. A question whose
    windows have no such span is answered by "", as if there were no answer.

    Two kinds of scores are read, by the names of the outputs:

    *   `AlbertQuestionAnswerer`'s `start_logits` and `end_logits` `(batch, length)`. The
        score of a span is the sum of both, as the original's, not normalized in its
        window. The null score is that of [CLS] as a span, the least of all windows,
        less the best span's, 0 if there is none: BERT's null odds.
    *   The beam of `AlbertJointQuestionAnswerer`: `start_log_probs`, `start_positions`
        `(batch, k)`; `end_log_probs`, `end_positions` `(batch, k, m)`;
        `answerability_logits` `(batch,)`. The null score is the least logit of all
        windows.

    Args:
        questions: list of `Question`.
        windows: Their `AnswerWindows`, made without answers, so that each question has
            one.
        batches: iterable of tuples `(rows, outputs)`: windows, int `(batch,)`, and the
            dict of a model's outputs for them. In any order; each window in one.
        max_answer_length: int. Most tokens of an answer.
        num_best: int. Most candidates of a question.

    Returns:
        List of `Answer`, one a question.

    Raises:
        ValueError: If a score is not a number, as from a model that has diverged, or a
            question has no window, or a window no scores.

    Reference: google-research/albert squad_utils.py `accumulate_predictions_v1`,
    `accumulate_predictions_v2`, `write_predictions_v1`, `write_predictions_v2`.
    """
    check_positive_integer("max_answer_length", max_answer_length)
    check_positive_integer("num_best", num_best)
    _check_windows(questions, windows)
    spans = _Spans.unknown(len(windows.question_of), num_best)
    is_relative = False
    for rows, outputs in batches:
        rows = np.asarray(rows)
        outputs = {name: np.asarray(output) for name, output in outputs.items()}
        _check_scores(questions, windows, rows, outputs)
        is_relative = "start_logits" in outputs
        decode = _decode_logits if is_relative else _decode_beams
        decoded = decode(windows, rows, outputs, max_answer_length, num_best)
        for values, new in zip(spans, decoded, strict=True):
            values[rows] = new
    _check_complete(questions, windows, spans)
    return _choose(questions, windows, spans, num_best, is_relative)


def apply_threshold(answers, threshold):
    """Returns a dict of the answers' texts by question, "" above the threshold.

    Args:
        answers: list of `Answer`.
        threshold: float, or None to answer all. A question whose null score is greater
            is not answered, as the official script has it, which fits the threshold;
            the original's code gives none for an equal one either.

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
    """The best spans of windows, best first; -inf is the score of none.

    Attributes:
        scores: float64 `(num_windows, num_best)`.
        starts, ends: int64 `(num_windows, num_best)`. Tokens of the window.
        null_scores: float64 `(num_windows,)`. NaN where nothing is known yet.
    """

    scores: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    null_scores: np.ndarray

    @classmethod
    def unknown(cls, num_windows, num_best):
        shape = (num_windows, num_best)
        return cls(
            np.full(shape, -np.inf),
            np.zeros(shape, np.int64),
            np.zeros(shape, np.int64),
            np.full(num_windows, np.nan),
        )


def _decode_logits(windows, rows, outputs, max_answer_length, num_best):
    start_logits = outputs["start_logits"].astype(np.float64)
    end_logits = outputs["end_logits"].astype(np.float64)
    null_scores = start_logits[:, 0] + end_logits[:, 0]
    length = start_logits.shape[1]
    positions = np.broadcast_to(np.arange(length), start_logits.shape)
    may_start, may_end = _limits(windows, rows, positions)
    start_logits = np.where(may_start, start_logits, -np.inf)
    end_logits = np.where(may_end, end_logits, -np.inf)
    beyond = [(0, 0), (0, max_answer_length - 1)]
    end_logits = np.pad(end_logits, beyond, constant_values=-np.inf)

    # Each start by its best end: the best spans begin at the best of them.
    best_ends = end_logits[:, :length]
    for shift in range(1, max_answer_length):
        best_ends = np.maximum(best_ends, end_logits[:, shift : shift + length])
    order = np.argsort(-(start_logits + best_ends), axis=1, kind="stable")
    starts = np.sort(order[:, :num_best], axis=1)[:, :, np.newaxis]
    ends = starts + np.arange(max_answer_length)
    each = np.arange(len(rows))[:, np.newaxis, np.newaxis]
    scores = start_logits[each, starts] + end_logits[each, ends]
    best = _take_best(scores, np.broadcast_to(starts, ends.shape), ends, num_best)
    return _Spans(*best, null_scores)


def _decode_beams(windows, rows, outputs, max_answer_length, num_best):
    starts = outputs["start_positions"].astype(np.int64)[:, :, np.newaxis]
    ends = outputs["end_positions"].astype(np.int64)
    start_scores = outputs["start_log_probs"].astype(np.float64)[:, :, np.newaxis]
    scores = start_scores + outputs["end_log_probs"].astype(np.float64)
    may_start, _ = _limits(windows, rows, starts)
    _, may_end = _limits(windows, rows, ends)
    is_span = may_start & may_end & (starts <= ends)
    is_span &= ends - starts < max_answer_length
    scores = np.where(is_span, scores, -np.inf)
    best = _take_best(scores, np.broadcast_to(starts, ends.shape), ends, num_best)
    null_scores = outputs["answerability_logits"].reshape(len(rows))
    return _Spans(*best, null_scores)


def _limits(windows, rows, positions):
    """Says at which tokens of windows an answer may start, and at which end.

    Args:
        rows: int `(batch,)`. Windows.
        positions: int `(batch, ...)`. Tokens of each.

    Returns:
        Two bool arrays `(batch, ...)`.
    """
    per_row = (-1,) + (1,) * (positions.ndim - 1)
    begins = windows.examples.offsets[rows].reshape(per_row)
    ends = windows.examples.offsets[rows + 1].reshape(per_row)
    places = begins + positions
    is_token = (places >= begins) & (places < ends)
    places = np.where(is_token, places, begins)
    is_context = is_token & (windows.context_starts[places] >= 0)
    return is_context & windows.is_max_context[places], is_context


def _take_best(scores, starts, ends, num_best):
    """Returns the best spans of each window, `(batch, num_best)`.

    Args:
        scores, starts, ends: `(batch, number of starts, ends of each)`.
    """
    scores, starts, ends = (a.reshape(len(a), -1) for a in (scores, starts, ends))
    order = np.lexsort((ends, starts, -scores), axis=1)[:, :num_best]
    missing = [(0, 0), (0, num_best - order.shape[1])]
    return (
        np.pad(np.take_along_axis(scores, order, 1), missing, constant_values=-np.inf),
        np.pad(np.take_along_axis(starts, order, 1), missing),
        np.pad(np.take_along_axis(ends, order, 1), missing),
    )


def _choose(questions, windows, spans, num_best, is_relative):
    """Chooses among the spans of all windows of each question."""
    of_window, rank = np.nonzero(spans.scores > -np.inf)
    scores = spans.scores[of_window, rank]
    order = np.lexsort((-scores, windows.question_of[of_window]))
    of_window, rank, scores = of_window[order], rank[order], scores[order]
    begins = windows.examples.offsets[of_window]
    starts = windows.context_starts[begins + spans.starts[of_window, rank]].tolist()
    ends = windows.context_ends[begins + spans.ends[of_window, rank]].tolist()
    scores = scores.tolist()
    numbers = np.arange(len(questions) + 1)
    bounds = np.searchsorted(windows.question_of[of_window], numbers).tolist()

    null_scores = np.full(len(questions), np.inf)
    np.minimum.at(null_scores, windows.question_of, spans.null_scores)
    answers = []
    for number, question in enumerate(questions):
        found = slice(bounds[number], bounds[number + 1])
        places = zip(starts[found], ends[found], scores[found], strict=True)
        candidates = _candidates(question.context, places, num_best)
        null_score = float(null_scores[number])
        if is_relative and candidates:
            null_score -= candidates[0].score
        text = candidates[0].text if candidates else ""
        answers.append(Answer(question.id, text, null_score, candidates))
    return answers


def _candidates(context, places, num_best):
    """Returns the first places with different texts, as a tuple of `Candidate`."""
    chosen = {}
    for start, end, score in places:
        # A last token that stands for no character is where the next word begins. And
        # "" would mean that there is no answer.
        text = context[start:end].rstrip()
        if text:
            chosen.setdefault(text, (start, score))
        if len(chosen) == num_best:
            break
    scores = np.array([score for _, score in chosen.values()])
    weights = np.exp(scores - scores.max(initial=-np.inf))
    probabilities = (weights / weights.sum()).tolist()
    return tuple(
        Candidate(text, *place, probability)
        for (text, place), probability in zip(
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
    """Checks that scores are numbers, or minus infinity, on all tokens of windows."""
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
            row, place = np.argwhere(is_wrong)[0]
            question = questions[windows.question_of[rows[row]]]
            raise ValueError(
                "Scores must be numbers. "
                f"Received: {name} with {output[row, place]} for question "
                f"{question.id!r}. The model has probably diverged."
            )


def _check_complete(questions, windows, spans):
    missing = np.flatnonzero(np.isnan(spans.null_scores))
    if missing.size:
        raise ValueError(
            f"Each window must have scores. Received: {missing.size} of "
            f"{len(spans.null_scores)} without, the first one of question "
            f"{questions[windows.question_of[missing[0]]].id!r}."
        )
