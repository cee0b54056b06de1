"""Metrics of SQuAD 1.1, SQuAD 2.0 and CMRC 2018, equal to the official scripts."""

import collections
import difflib
import random
import re

import numpy as np

from albert_keras.preprocessors.answer_spans import normalize_answer
from albert_keras.tokenizers.words import locate_words

# Characters that CMRC's script ignores. Its list also has "……", which it never finds,
# because it compares single characters.
_WITHOUT_MARKS = str.maketrans(
    "", "", "-:_*^/\\~`+=，。：？！“”；’《》·、「」（）－～『』"
)

_CHINESE = "\u4e00-\u9fa5"
_RUN = rf"[^\s{_CHINESE},;@#$%&?!()\[\]{{}}<>\"'—]+"
_SEGMENTS = re.compile(rf"[{_CHINESE}]|{_RUN}(?:,(?=\d){_RUN})*|\S")


def squad_v1_metrics(questions, predictions):
    """Returns exact match and F1 as SQuAD 1.1 defines them.

    Args:
        questions: list of `Question`, each with an answer.
        predictions: Dict from ids of questions to predicted texts. A question without
            prediction scores 0; other ids are ignored.

    Returns:
        Dict: `exact_match` and `f1`, in percent; `total`, the number of questions; and
        `missing`, the number of questions without prediction.

    Example:

    >>> from albert_keras.preprocessors.answer_spans import Question
    >>> question = Question("1", "Who?", "The Normans did.", (("The Normans", 0),))
    >>> squad_v1_metrics([question], {"1": "Normans did"})["exact_match"]
    0.0

    Reference: Rajpurkar et al. 2016, arXiv 1606.05250, section 6.1; `evaluate-v1.1.py`.
    """
    return _mean_scores(questions, predictions, {"exact_match": _exact, "f1": _f1})


def squad_v2_metrics(questions, predictions, null_scores=None, threshold=None):
    """Returns exact match and F1 as SQuAD 2.0 defines them.

    The right prediction for a question without answer is "". With null scores it also
    finds the best threshold: the greatest null score of a question with an answer. It is
    0.0 if no answer at all is best, as in the official script.

    Args:
        questions: list of `Question`, labelled.
        predictions: Dict from ids of questions to predicted texts, before a threshold if
            there are null scores. A question without prediction scores 0 at all
            thresholds (the official script skips it); other ids are ignored.
        null_scores: Dict from the ids of predictions to numbers, or None. The higher a
            number, the less likely is an answer.
        threshold: float, or None. Null score above which a prediction counts as "" for
            `exact` and `f1`. The official script's default is 1.0.

    Returns:
        Dict, scores in percent: `exact`, `f1`, `total`; if there are such questions,
        `HasAns_exact`, `HasAns_f1`, `HasAns_total` of questions with an answer and
        `NoAns_...` of the others; with null scores `best_exact`, `best_exact_thresh`,
        `best_f1`, `best_f1_thresh`; and `missing`, see `squad_v1_metrics`.

    Reference: Rajpurkar et al. 2018, arXiv 1806.03822, section 5; `evaluate-v2.0.py`,
    `get_raw_scores`, `apply_no_ans_threshold`, `find_best_thresh`.
    """
    # An answer of punctuation or articles alone counts as no answer.
    golds = [
        [text for text, _ in question.answers if normalize_answer(text)] or [""]
        for question in questions
    ]
    scores = {
        "exact": _best_scores(_exact, questions, golds, predictions),
        "f1": _best_scores(_f1_or_agreement, questions, golds, predictions),
    }
    # (num_questions,)
    has_answer = np.array([bool(question.answers) for question in questions])
    best = {}
    if null_scores is not None:
        for name, values in scores.items():
            best[f"best_{name}"], best[f"best_{name}_thresh"] = _best_threshold(
                questions, values, predictions, null_scores
            )
        if threshold is not None:
            above = {key for key, score in null_scores.items() if score > threshold}
            above &= predictions.keys()
            is_null = np.array([question.id in above for question in questions])
            scores = {n: np.where(is_null, ~has_answer, s) for n, s in scores.items()}
    missing = sum(question.id not in predictions for question in questions)
    return {**_grouped(scores, has_answer), **best, "missing": missing}


def cmrc_metrics(questions, predictions):
    """Returns exact match and F1 as CMRC 2018 defines them.

    Case and Chinese punctuation are ignored. F1 counts the longest common sequence of
    segments: Chinese characters, and other text between them, split at spaces and marks.
    The official script splits other text with NLTK. This differs for 18 of the 4,933
    answers of the development and trial sets, and changes no F1 score of their last
    answers against the others.

    Args:
        questions, predictions: As for `squad_v1_metrics`.

    Returns:
        Dict as of `squad_v1_metrics`, and `average`, the mean of `exact_match` and `f1`,
        which ranks systems.

    Example:

    >>> from albert_keras.preprocessors.answer_spans import Question
    >>> question = Question("1", "谁？", "光荣和ω-force", (("光荣和ω-force", 0),))
    >>> cmrc_metrics([question], {"1": "和ω-Force。"})["f1"]
    66.66666666666666

    Reference: Cui et al. 2019, arXiv 1810.07366, section 4; ymcui/cmrc2018
    `cmrc2018_evaluate.py`, `mixed_segmentation`, `find_lcs`, `remove_punctuation`.
    """
    scores = _mean_scores(
        questions, predictions, {"exact_match": _chinese_exact, "f1": _chinese_f1}
    )
    return {**scores, "average": (scores["exact_match"] + scores["f1"]) / 2}


def random_spans(questions, seed=0):
    """Returns a random span of words for each question, as long as a random answer.

    Args:
        questions: list of `Question`, each with an answer.
        seed: int. Default 0.

    Returns:
        Dict from the questions' ids to spans of their contexts; see `locate_words`.
    """
    draw = random.Random(seed)
    lengths = [len(locate_words(question.answers[0][0])) for question in questions]
    spans = {}
    for question in questions:
        words = locate_words(question.context) or [(0, 0)]
        length = max(1, min(draw.choice(lengths), len(words)))
        first = draw.randrange(len(words) - length + 1)
        start, end = words[first][0], words[first + length - 1][1]
        spans[question.id] = question.context[start:end]
    return spans


def _mean_scores(questions, predictions, measures):
    """Returns mean scores in percent, `total` and `missing`; see `squad_v1_metrics`.

    `measures` is a dict from names to functions of a right answer and a prediction. If a
    question has several right answers, the best score counts.
    """
    golds = [[text for text, _ in question.answers] for question in questions]
    scores = {
        name: _percent(_best_scores(measure, questions, golds, predictions))
        for name, measure in measures.items()
    }
    missing = sum(question.id not in predictions for question in questions)
    return {**scores, "total": len(questions), "missing": missing}


def _f1_of_counts(num_common, num_gold, num_predicted):
    """Returns F1 in the scripts' order of operations, for equal last digits."""
    if num_common == 0:
        return 0.0
    precision = num_common / num_predicted
    recall = num_common / num_gold
    return 2 * precision * recall / (precision + recall)


def _best_scores(measure, questions, golds, predictions):
    """Returns each question's best score over `golds`, the lists of right answers."""
    scores = np.zeros(len(questions))
    for row, (question, answers) in enumerate(zip(questions, golds, strict=True)):
        if question.id in predictions:
            predicted = predictions[question.id]
            scores[row] = max(measure(gold, predicted) for gold in answers)
    return scores


def _percent(scores):
    return 100.0 * float(np.sum(scores)) / len(scores)


def _exact(gold, predicted):
    return normalize_answer(gold) == normalize_answer(predicted)


def _f1(gold, predicted):
    gold_words = normalize_answer(gold).split()
    words = normalize_answer(predicted).split()
    common = collections.Counter(gold_words) & collections.Counter(words)
    return _f1_of_counts(common.total(), len(gold_words), len(words))


def _chinese_exact(gold, predicted):
    return _without_marks(gold) == _without_marks(predicted)


def _chinese_f1(gold, predicted):
    gold_segments = _SEGMENTS.findall(_without_marks(gold))
    segments = _SEGMENTS.findall(_without_marks(predicted))
    matcher = difflib.SequenceMatcher(None, gold_segments, segments, autojunk=False)
    longest = matcher.find_longest_match()
    return _f1_of_counts(longest.size, len(gold_segments), len(segments))


def _without_marks(text):
    return text.lower().strip().translate(_WITHOUT_MARKS)


def _f1_or_agreement(gold, predicted):
    """Returns the F1, or whether both texts have no words if one has none."""
    if normalize_answer(gold) and normalize_answer(predicted):
        return _f1(gold, predicted)
    return _exact(gold, predicted)


def _grouped(scores, has_answer):
    """Returns the means over all questions, those with answers, and those without."""
    metrics = {}
    groups = {"": has_answer | True, "HasAns_": has_answer, "NoAns_": ~has_answer}
    for prefix, is_in in groups.items():
        if is_in.any():
            for name, values in scores.items():
                metrics[prefix + name] = _percent(values[is_in])
            metrics[f"{prefix}total"] = int(is_in.sum())
    return metrics


def _best_threshold(questions, scores, predictions, null_scores):
    """Returns the best score, in percent, and its threshold."""
    # Starts without answers, then answers the questions in the order of null scores, and
    # equal null scores in the order of the dict.
    rows = {q.id: row for row, q in enumerate(questions) if q.id in predictions}
    ids = sorted((key for key in null_scores if key in rows), key=null_scores.get)
    gains = [sum(not questions[row].answers for row in rows.values())]
    for key in ids:
        if questions[rows[key]].answers:
            gains.append(scores[rows[key]])
        else:
            gains.append(-1.0 if predictions[key] else 0.0)
    totals = np.cumsum(gains)
    best = int(np.argmax(totals))
    threshold = float(null_scores[ids[best - 1]]) if best else 0.0
    return 100.0 * float(totals[best]) / len(scores), threshold
