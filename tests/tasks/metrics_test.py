"""Metrics against values computed by hand, and edge cases."""

import json
import math

import ml_dtypes
import numpy as np
import pytest

from albert_keras.tasks import metrics
from albert_keras.tasks.metrics import METRICS, classification_report, label_ids, score

# 6 true positives, 1 false one, 2 false negatives, 3 true ones.
TARGETS = np.array([1] * 8 + [0] * 4)
PREDICTIONS = np.array([1] * 6 + [0] * 2 + [1] + [0] * 3)


def test_metrics_of_two_classes():
    received = {name: METRICS[name](TARGETS, PREDICTIONS) for name in list(METRICS)[:4]}
    assert received == pytest.approx(
        {
            "accuracy": 9 / 12,
            "f1": 12 / 15,
            "macro_f1": (12 / 15 + 6 / 9) / 2,
            "matthews": (6 * 3 - 1 * 2) / math.sqrt(7 * 8 * 4 * 5),
        },
        abs=1e-12,
    )


def test_metrics_of_regression():
    scores = np.float32([1, 2, 3, 4])
    assert METRICS["pearson"](scores, np.float32([1, 2, 3, 5])) == pytest.approx(
        6.5 / math.sqrt(5 * 8.75), abs=1e-12
    )
    # Equal values share a rank: 1, 2.5, 2.5, 4.
    assert METRICS["spearman"](scores, np.float32([1, 7, 7, 90])) == pytest.approx(
        4.5 / math.sqrt(5 * 4.5), abs=1e-12
    )


@pytest.mark.parametrize("name", ["matthews", "pearson", "spearman"])
def test_constants_have_no_correlation(name):
    classes = np.array([0, 1, 1])
    for constant in (np.ones(3, int), np.zeros(3), np.float64([1, 1, 1 + 1e-15])):
        constant = constant.astype(int) if name == "matthews" else constant
        assert METRICS[name](classes, constant) == 0.0
        assert METRICS[name](constant, classes) == 0.0
    assert METRICS[name](classes[:1], classes[:1]) == 0.0


def test_class_that_does_not_occur():
    nothing = np.zeros(5, int)
    assert METRICS["f1"](nothing, nothing) == 0.0
    assert METRICS["macro_f1"](nothing, nothing) == 1.0
    with pytest.raises(ValueError, match="multiclass"):
        METRICS["f1"](np.array([1, 2]), np.array([3, 0]))


def test_ties_are_decided_for_the_lowest_class():
    logits = np.array([[1, 3, 2], [2, 2, 1], [0, 1, 1], [0, 0, 0]], ml_dtypes.bfloat16)
    assert metrics.predicted_classes(logits).tolist() == [1, 0, 1, 0]
    received = score(["macro_f1", "accuracy"], np.array([1, 0, 2, 0]), logits)
    assert list(received.items()) == [
        ("macro_f1", pytest.approx((1 + 2 / 3 + 0) / 3)),
        ("accuracy", 3 / 4),
    ]


def test_outputs_that_are_not_finite():
    logits = np.zeros((872, 2), np.float16)
    metrics.check_finite_outputs(logits)
    logits[[30, 7, 871], [0, 1, 1]] = np.nan
    with pytest.raises(ValueError, match="infinity in 3 of 872 rows, first 7. If"):
        score(["accuracy"], np.zeros(872, int), logits)
    logits[[4, 4]] = -np.inf
    with pytest.raises(ValueError, match="infinity in 4 of 872 rows, first 4"):
        metrics.check_finite_outputs(logits)


def test_classification_report():
    report = classification_report(
        [0, 0, 0, 2, 2], [0, 2, 2, 2, 0], ["no", "so", "yes"]
    )
    assert report["labels"] == ["no", "so", "yes"]
    assert report["confusion_matrix"] == [[1, 0, 2], [0, 0, 0], [1, 0, 1]]
    keys = ("label", "precision", "recall", "f1", "support")
    assert [tuple(row[key] for key in keys) for row in report["classes"]] == [
        ("no", 1 / 2, 1 / 3, pytest.approx(2 / 5), 3),
        ("so", 0.0, 0.0, 0.0, 0),
        ("yes", pytest.approx(1 / 3), 1 / 2, pytest.approx(2 / 5), 2),
    ]
    assert json.loads(json.dumps(report)) == report


def test_label_ids_follow_the_names():
    ids = label_ids(["b", "a", "b"], ("c", "b", "a"))
    assert ids.tolist() == [1, 2, 1]
    assert ids.dtype == np.int32
    with pytest.raises(ValueError, match="one of a, b. Received: c, d."):
        label_ids(["d", "a", "c", "d"], ("a", "b"))
