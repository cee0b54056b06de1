"""The metrics of CMRC 2018, of answers from Chinese texts."""

import difflib
import re

from albert_keras.tasks.question_answering.squad_metrics import (
    best_scores,
    check_labelled,
    count_missing,
    f1_of_counts,
    percent,
)

# What the official script leaves out. Its list has "……" besides, two characters, which
# it looks for one by one and never finds.
_WITHOUT_MARKS = str.maketrans(
    "", "", "-:_*^/\\~`+=，。：？！“”；’《》·、「」（）－～『』"
)

_CHINESE = "\u4e00-\u9fa5"
_RUN = rf"[^\s{_CHINESE},;@#$%&?!()\[\]{{}}<>\"'—]+"
_SEGMENTS = re.compile(rf"[{_CHINESE}]|{_RUN}(?:,(?=\d){_RUN})*|\S")


def cmrc_metrics(questions, predictions):
    """Returns exact match and F1 of answers as CMRC 2018 counts them.

    Case and Chinese punctuation make no difference. F1 is that of the longest run of
    segments that a prediction has in common with an answer. Segments are Chinese
    characters, and what stands between them, cut at spaces and marks. The official
    script cuts that with NLTK: of the 4,933 answers of the development and trial sets
    18 otherwise, which changes nothing in the F1 of their last answers against the
    others.

    Args:
        questions: list of `Question`, each with an answer.
        predictions: Dict from questions' ids to the texts predicted. A question without
            one scores 0; ids of no question do not count.

    Returns:
        Dict: `exact_match`, `f1` and their `average`, by which systems are ranked, in
        percent; `total`, the number of questions, and `missing`, of those without a
        prediction.

    Raises:
        ValueError: If there is no question, or one has no answer.

    Example:

    >>> from albert_keras.tasks.question_answering.reading import Question
    >>> question = Question("1", "谁？", "光荣和ω-force", (("光荣和ω-force", 0),))
    >>> cmrc_metrics([question], {"1": "和ω-Force。"})["f1"]
    66.66666666666666

    Reference: Cui et al. 2019, arXiv 1810.07366, section 4; ymcui/cmrc2018
    `cmrc2018_evaluate.py`, `mixed_segmentation`, `find_lcs`, `remove_punctuation`.
    """
    check_labelled(questions, [q for q in questions if not q.answers])
    golds = [[text for text, _ in question.answers] for question in questions]
    exact_match = percent(best_scores(_exact, questions, golds, predictions))
    f1 = percent(best_scores(_f1, questions, golds, predictions))
    return {
        "exact_match": exact_match,
        "f1": f1,
        "average": (exact_match + f1) / 2,
        "total": len(questions),
        "missing": count_missing(questions, predictions),
    }


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
