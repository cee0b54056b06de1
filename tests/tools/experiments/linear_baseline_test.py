"""The linear baseline of tasks on texts."""

import pytest

from albert_keras.tasks import TASKS
from albert_keras.tasks.text_classification.reading import LabelledTexts
from tools.experiments.linear_baseline import linear_baseline

WORDS = ("amber", "birch", "cedar", "dune", "ember", "fjord", "grove")


def test_classes_follow_from_words():
    texts = [f"{a} then {b}" for a in WORDS for b in WORDS]
    labels = [
        "warm" if "ember" in text or "amber" in text else "cold" for text in texts
    ]
    rows = LabelledTexts(texts, labels)
    assert linear_baseline(TASKS["text-classification"], rows, rows) == 1.0


def test_chinese_is_read_by_character():
    texts = [f"{a}天{b}气" for a in "晴雨雪风" for b in "好坏大小"]
    rows = LabelledTexts(texts, ["好" if "晴" in text else "坏" for text in texts])
    assert linear_baseline(TASKS["text-classification"], rows, rows) == 1.0


def test_numbers_follow_from_the_overlap_of_pairs():
    texts = [f"{a} {b} {c}" for a in WORDS for b in WORDS for c in WORDS[:2]]
    pairs = texts[::-1]
    shared = [
        str(len({*x.split()} & {*y.split()})) for x, y in zip(texts, pairs, strict=True)
    ]
    rows = LabelledTexts(texts, shared, pairs)
    assert linear_baseline(TASKS["pair-regression"], rows, rows) > 0.8


@pytest.mark.parametrize("task", ["multi-label-classification", "squad"])
def test_other_rows_have_no_baseline(task):
    rows = LabelledTexts(["dune"], [("warm", "dry")]) if "label" in task else []
    assert linear_baseline(TASKS[task], rows, rows) is None
