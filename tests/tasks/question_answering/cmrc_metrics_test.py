"""CMRC's metrics, computed by hand from their definition."""

import pytest

from albert_keras.tasks.question_answering.cmrc_metrics import cmrc_metrics
from albert_keras.tasks.question_answering.reading import Question, read_questions


def score(golds, predicted):
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
def test_golden_scores(gold, predicted, exact_match, f1):
    metrics = score([gold], predicted)
    assert metrics["exact_match"] == exact_match
    assert metrics["f1"] == pytest.approx(f1)
    assert metrics["average"] == pytest.approx((exact_match + f1) / 2)


def test_best_of_several_answers():
    assert score(["北京大学", "北京", "清华"], "北京")["average"] == 100
    assert score(["甲乙丙", "甲乙丁"], "甲乙")["f1"] == pytest.approx(80)


def test_missing_predictions_score_0():
    questions = [Question(str(n), "谁？", "甲", (("甲", 0),)) for n in range(4)]
    metrics = cmrc_metrics(questions, {"0": "甲", "3": "乙", "other": "甲"})
    assert metrics == {
        "exact_match": 25.0,
        "f1": 25.0,
        "average": 25.0,
        "total": 4,
        "missing": 2,
    }


def test_unlabelled_questions():
    with pytest.raises(ValueError, match="Received: 1 without, the first 'new'"):
        cmrc_metrics([Question("new", "谁？", "甲")], {"new": "甲"})


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
