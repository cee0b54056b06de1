"""Metrics of CMRC 2018, for answers from Chinese texts."""

import difflib
import re

from albert_keras.tasks.question_answering.squad_metrics import (
    f1_of_counts,
    mean_scores,
)

# Characters that the official script ignores. Its list also has "……", which it never
# finds, because it compares single characters.
_WITHOUT_MARKS = str.maketrans(
    "", "", "-:_*^/\\~`+=，。：？！“”；’《》·、「」（）－～『』"
)

_CHINESE = "\u4e00-\u9fa5"
_RUN = rf"[^\s{_CHINESE},;@#$%&?!()\[\]{{}}<>\"'—]+"
_SEGMENTS = re.compile(rf"[{_CHINESE}]|{_RUN}(?:,(?=\d){_RUN})*|\S")


def cmrc_metrics(questions, predictions):
    """Returns exact match and F1 as CMRC 2018 defines them.

    Case and Chinese punctuation are ignored. F1 is that of the longest common run of
    segments: Chinese characters, and other text between them, split at spaces and marks.
    The official script splits other text with NLTK, which differs for 18 of the 4,933
    answers of the development and trial sets, and changes none of the F1 scores of their
    last answers against the others.

    Args:
        questions, predictions: As for `squad_v1_metrics`.

    Returns:
        Dict of `squad_v1_metrics`, and `average` of `exact_match` and `f1`, by which
        systems are ranked.

    Example:

    >>> from albert_keras.tasks.question_answering.reading import Question
    >>> question = Question("1", "谁？", "光荣和ω-force", (("光荣和ω-force", 0),))
    >>> cmrc_metrics([question], {"1": "和ω-Force。"})["f1"]
    66.66666666666666

    Reference: Cui et al. 2019, arXiv 1810.07366, section 4; ymcui/cmrc2018
    `cmrc2018_evaluate.py`, `mixed_segmentation`, `find_lcs`, `remove_punctuation`.
    """
    scores = mean_scores(questions, predictions, {"exact_match": _exact, "f1": _f1})
    return {**scores, "average": (scores["exact_match"] + scores["f1"]) / 2}


def _exact(gold, predicted):
    return _without_marks(gold) == _without_marks(predicted)


def _f1(gold, predicted):
    gold_segments = _SEGMENTS.findall(_without_marks(gold))
    segments = _SEGMENTS.findall(_without_marks(predicted))
    matcher = difflib.SequenceMatcher(None, gold_segments, segments, autojunk=False)
    longest = matcher.find_longest_match()
    return f1_of_counts(longest.size, len(gold_segments), len(segments))


def _without_marks(text):
    return text.lower().strip().translate(_WITHOUT_MARKS)
