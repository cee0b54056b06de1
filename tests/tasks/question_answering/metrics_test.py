"""Metrics of SQuAD and CMRC: published scores of real systems, and cases by hand."""

import collections
import functools
import json

import pytest

from albert_keras.preprocessors.answer_spans import Question
from albert_keras.tasks.question_answering.metrics import (
    cmrc_metrics,
    random_spans,
    squad_v1_metrics,
    squad_v2_metrics,
)
from albert_keras.tasks.question_answering.reading import read_questions


def ask(name, *golds, **more):
    return Question(name, "Who?", "context", tuple((g, 0) for g in golds), **more)


def none(name):
    return ask(name, is_impossible=True)


@functools.cache
def read(shared, version, system):
    folder = shared / "data/squad"
    predictions = folder / "predictions" / f"v{version}-{system}.json"
    questions = read_questions(folder / f"dev-v{version}.json")
    return questions, json.loads(predictions.read_text("utf-8"))


def test_published_scores_of_version_1(shared):
    metrics = squad_v1_metrics(*read(shared, "1.1", "bert-ensemble"))
    assert round(metrics["exact_match"], 3) == 86.206
    assert round(metrics["f1"], 3) == 92.196
    assert (metrics["total"], metrics["missing"]) == (10570, 0)


def test_published_scores_of_version_2(shared):
    questions, predictions = read(shared, "2.0", "bert-single")
    metrics = squad_v2_metrics(questions, predictions)
    received = {name: round(value, 3) for name, value in metrics.items()}
    assert received == {
        **{"exact": 78.742, "f1": 81.775, "total": 11873, "HasAns_exact": 74.106},
        **{"HasAns_f1": 80.182, "HasAns_total": 5928, "NoAns_exact": 83.364},
        **{"NoAns_f1": 83.364, "NoAns_total": 5945, "missing": 0},
    }


@pytest.mark.parametrize(
    ("golds", "predicted", "exact", "f1"),
    [
        (["The U.S.A."], "usa", 100, 100),
        (["a red fox", "fox"], "the fox", 100, 100),
        # 2 of 3 and of 2 words; articles are none.
        (["quick red fox"], "The red fox", 0, 80),
        (["red red fox"], "red fox fox red", 0, 600 / 7),
        (["fox"], "wolf", 0, 0),
        (["fox"], "", 0, 0),
    ],
)
def test_golden_scores(golds, predicted, exact, f1):
    first = squad_v1_metrics([ask("q", *golds)], {"q": predicted})
    assert first["exact_match"] == exact
    assert first["f1"] == pytest.approx(f1)
    second = squad_v2_metrics([ask("q", *golds)], {"q": predicted})
    assert second["HasAns_exact"] == second["exact"] == exact
    assert second["HasAns_f1"] == second["f1"] == pytest.approx(f1)
    assert not any(name.startswith("NoAns") for name in second)


def test_versions_differ_in_answers_without_words():
    """Version 1.1 compares their words, and there are none."""
    question = [ask("q", "the", "...")]
    assert squad_v1_metrics(question, {"q": "a"})["exact_match"] == 100
    assert squad_v1_metrics(question, {"q": "a"})["f1"] == 0
    assert squad_v2_metrics(question, {"q": ""})["f1"] == 100
    mixed = [ask("q", "the", "fox")]
    assert squad_v1_metrics(mixed, {"q": ""})["exact_match"] == 100
    assert squad_v2_metrics(mixed, {"q": ""})["exact"] == 0


def test_best_thresholds():
    questions = [ask("a", "red fox"), none("b"), ask("c", "x"), none("d"), none("e")]
    predictions = {"a": "fox", "b": "y", "c": "x", "d": "", "e": "z"}
    null_scores = {"e": 4.0, "c": -1.0, "a": -3.0, "d": -2.5, "b": -2.0}
    metrics = squad_v2_metrics(questions, predictions, null_scores)
    # Right, of those answered up to a, d, b, c, e: 3, 3, 3, 2, 3, 2; in F1 3, 3.67,
    # 3.67, 2.67, 3.67, 2.67. The first of the best counts.
    assert metrics["best_exact"] == 60
    assert metrics["best_exact_thresh"] == 0.0
    assert metrics["best_f1"] == pytest.approx(100 * (3 + 2 / 3) / 5)
    assert metrics["best_f1_thresh"] == -3.0
    # Up to -2.0: c and e are not answered.
    some = squad_v2_metrics(questions, predictions, null_scores, threshold=-2.0)
    assert some["exact"] == 40
    assert some["f1"] == pytest.approx(100 * (2 + 2 / 3) / 5)
    assert some["NoAns_exact"] == pytest.approx(200 / 3)
    assert some["best_f1"] == metrics["best_f1"]


def test_equal_null_scores_keep_their_order():
    """So the official script finds scores that no threshold reaches."""
    questions = [ask("right", "x"), none("wrong")]
    predictions = {"right": "x", "wrong": "y"}
    for order, best in ((["right", "wrong"], 100), (["wrong", "right"], 50)):
        null_scores = dict.fromkeys(order, 0.5)
        metrics = squad_v2_metrics(questions, predictions, null_scores)
        assert metrics["best_exact"] == best
        assert metrics["best_exact_thresh"] == (0.5 if best == 100 else 0.0)


def test_missing_predictions_score_0():
    questions = [ask("a", "x"), none("b"), none("c"), ask("d", "y")]
    first = squad_v1_metrics(questions[::3], {"a": "x", "other": "y"})
    assert first == {"exact_match": 50.0, "f1": 50.0, "total": 2, "missing": 1}
    predictions, null_scores = {"a": "x", "c": ""}, {"a": 1.0, "b": 2.0, "c": 9.0}
    metrics = squad_v2_metrics(questions, predictions, null_scores, threshold=-1.0)
    # With all null scores above the threshold c is right, and neither b nor d.
    assert metrics["exact"] == metrics["f1"] == 25
    assert (metrics["best_exact"], metrics["best_exact_thresh"]) == (50, 1.0)
    assert (metrics["total"], metrics["missing"]) == (4, 2)


def test_random_spans_are_drawn_evenly_with_the_lengths_of_answers():
    question = Question("", "Who?", "甲 乙 丙丁戊, Ann", (("乙", 0),))
    long = question._replace(answers=(("乙丙丁", 0),))
    questions = [(long if n < 1000 else question)._replace(id=n) for n in range(5000)]
    counts = collections.Counter(random_spans(questions, seed=5).values())
    assert all(span in question.context for span in counts)
    words = ["甲", "乙", "丙", "丁", "戊", ",", "Ann"]
    # A fifth has three words. The limits are over four standard deviations away.
    assert all(500 < counts[word] < 650 for word in words)
    assert len(counts) == 12
    without_words = [question._replace(context=" ")]
    assert random_spans(without_words) == {"": ""}


def score_in_cmrc(golds, predicted):
    question = Question("q", "谁？", "无", tuple((gold, 0) for gold in golds))
    return cmrc_metrics([question], {"q": predicted})


@pytest.mark.parametrize(
    ("gold", "predicted", "exact_match", "f1"),
    [
        ("村雨城", "村雨城", 100, 100),
        # Marks and case make no difference, those of English and "…" do.
        ("《村雨城》", "“村雨城”。", 100, 100),
        ("Omega-Force", "omegaforce", 100, 100),
        ("村雨城…", "村雨城", 0, 600 / 7),
        ("村雨(城)", "村雨城", 0, 50),
        # 2 of 4 and of 3 segments: the longest run, not the longest subsequence.
        ("北京大学", "北京学", 0, 400 / 7),
        ("甲乙丙丁戊", "甲子乙丑丙", 0, 20),
        # A word is a segment: 3 of 4 and of 3.
        ("光荣和omega", "荣和omega", 0, 600 / 7),
        # 4 of 5 and of 7: numbers stay whole.
        ("约3.5亿人", "大约3.5亿人口", 0, 80),
        ("有1,250,000人", "1,250,000", 0, 50),
        ("new york city", "New  York", 0, 80),
        ("北京", "南方", 0, 0),
        ("北京", "", 0, 0),
        ("北京", "。", 0, 0),
    ],
)
def test_golden_scores_of_cmrc(gold, predicted, exact_match, f1):
    metrics = score_in_cmrc([gold], predicted)
    assert metrics["exact_match"] == exact_match
    assert metrics["f1"] == pytest.approx(f1)
    assert metrics["average"] == pytest.approx((exact_match + f1) / 2)


def test_best_of_several_answers():
    assert score_in_cmrc(["北京大学", "北京", "清华"], "北京")["average"] == 100
    assert score_in_cmrc(["甲乙丙", "甲乙丁"], "甲乙")["f1"] == pytest.approx(80)


def test_last_annotators_against_the_others(shared):
    """As the official script has it, with NLTK's tokenizer: 77.788 and 93.440."""
    questions = read_questions(shared / "data/zh/cmrc2018/cmrc2018_dev.json")
    predictions = {question.id: question.answers[-1][0] for question in questions}
    others = [
        question._replace(answers=question.answers[:-1]) for question in questions
    ]
    metrics = cmrc_metrics(others, predictions)
    assert metrics["exact_match"] == pytest.approx(77.788, abs=5e-4)
    assert metrics["f1"] == pytest.approx(93.440, abs=5e-4)
    assert (metrics["total"], metrics["missing"]) == (3219, 0)
