"""Classification of any table: labels, weights, scores."""

import dataclasses

import numpy as np
import pytest

from albert_keras.runs.predictions import mistakes_of
from albert_keras.tasks import TextClassificationTask
from albert_keras.tasks.text_classification import LabelledTexts
from tests.tasks.task_checks import LENGTH, run_task_test
from tests.tasks.text_classification.labelled_rows import LABELS, ROWS, TEXTS, recipe


@pytest.mark.slow
def test_single_texts(tokenizer, tmp_path):
    task, prepared, _, logits = run_task_test(
        TextClassificationTask(), ROWS, tokenizer, tmp_path
    )
    assert task.labels == ("bad", "good", "river")
    scores = task.score(prepared, logits)
    log_probs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    expected = [task.labels.index(label) for label in LABELS]
    loss = -log_probs[np.arange(7), expected].mean()
    assert scores["loss"] == pytest.approx(loss, rel=1e-4)
    assert scores["majority_accuracy"] == pytest.approx(3 / 7)
    assert scores["num_predicted_labels"] == 3
    assert task.report(prepared, logits)["confusion_matrix"] == [
        [3, 0, 0],
        [0, 2, 0],
        [0, 0, 2],
    ]
    (row, *_) = task.describe(prepared, logits)
    assert (row["text"], row["label"]) == (TEXTS[0], "good")
    assert list(row["probabilities"]) == ["bad", "good", "river"]
    assert sum(row["probabilities"].values()) == pytest.approx(1)
    assert mistakes_of(task, prepared, logits) == []
    wrong = logits.copy()
    # Other labels in place of what was learned, the second one surer.
    others = [(expected[row] + 1) % 3 for row in (1, 2)]
    wrong[1], wrong[2] = np.eye(3)[others[0]], 3 * np.eye(3)[others[1]]
    received = mistakes_of(task, prepared, wrong)
    for row, mistake in zip((2, 1), received, strict=True):
        found = [mistake[name] for name in ("text", "label", "prediction")]
        assert found == [TEXTS[row], LABELS[row], task.labels[others[row - 1]]]
    assert received[0]["probability"] == pytest.approx(np.exp(3) / (np.exp(3) + 2))


def test_notes_on_truncated_rows_and_labels(tokenizer):
    task = recipe(TextClassificationTask()).for_run(ROWS, tokenizer)
    rows = LabelledTexts([*TEXTS[:3], " ".join(TEXTS) * 2], None)
    (line,) = task.notes(task.prepare(rows))
    assert line.startswith(
        f"25.0% of the rows fill {LENGTH} tokens or were cut: --long-"
    )
    (line,) = task.notes(task.prepare(ROWS))
    assert line == "labels: 'bad' 3, 'good' 2, 'river' 2"


def test_balanced_class_weights(tokenizer):
    task = recipe(TextClassificationTask(class_weights="balanced"))
    task = task.for_run(ROWS, tokenizer)
    arrays = task.prepare(ROWS, training=True).examples.example_arrays
    totals = [
        arrays["label_weights"][arrays["labels"] == label].sum() for label in range(3)
    ]
    np.testing.assert_allclose(totals, 7 / 3, rtol=1e-6)
    _, y, weights = next(iter(task.make_dataset(task.prepare(ROWS, training=True), 3)))
    assert weights.shape == y.shape
    assert "label_weights" not in task.prepare(ROWS).examples.example_arrays
    task = dataclasses.replace(task, class_weights={"good": 2.0, "fine": 1.0})
    with pytest.raises(ValueError, match="labels bad, good, river. Received: fine"):
        task.prepare(ROWS, training=True)


def test_class_weights_that_are_none(tokenizer):
    for weight in (-1.0, float("inf"), float("nan"), "2"):
        with pytest.raises(
            ValueError, match=f"not negative. Received: 'bad'={weight!r}"
        ):
            TextClassificationTask(class_weights={"bad": weight})
    none = dict.fromkeys(["bad", "good", "river"], 0.0)
    task = recipe(TextClassificationTask(class_weights=none)).for_run(ROWS, tokenizer)
    with pytest.raises(ValueError, match="weight that is not 0. Received: {'bad': 0.0"):
        task.prepare(ROWS, training=True)


def test_prior_loss_is_the_least_loss_of_a_constant_answer(tokenizer):
    task = recipe(TextClassificationTask(class_weights={"bad": 3.0}))
    task = dataclasses.replace(task, label_smoothing=0.2).for_run(ROWS, tokenizer)
    prepared = task.prepare(ROWS, training=True)
    arrays = prepared.examples.example_arrays
    loss = task.losses()

    def loss_of(shares):
        logits = np.tile(np.log(shares), (7, 1)).astype(np.float32)
        values = loss.call(arrays["labels"], logits)
        return np.average(np.array(values), weights=arrays["label_weights"])

    draws = np.random.default_rng(3).dirichlet([8, 3, 3], 300)
    least = min(loss_of(shares) for shares in draws)
    assert task.prior_loss(prepared) == pytest.approx(least, rel=0.01)
    assert task.prior_loss(prepared) <= least + 1e-6


def test_label_smoothing_changes_the_loss():
    task = TextClassificationTask(label_smoothing=0.25, labels=("a", "b"))
    assert task.losses().label_smoothing == 0.25


def test_bad_rows(tokenizer):
    with pytest.raises(ValueError, match="two labels. Received: labels=x"):
        TextClassificationTask().for_run(LabelledTexts(["a"], ["x"]), tokenizer)
    task = recipe(TextClassificationTask()).for_run(ROWS, tokenizer)
    unlabelled = task.prepare(ROWS._replace(labels=None))
    with pytest.raises(ValueError, match="without the column `label`"):
        task.score(unlabelled, np.zeros((7, 3), np.float32))
    logits = np.zeros((7, 3), np.float32)
    logits[[1, 4]] = np.nan
    with pytest.raises(ValueError, match="NaN in 2 of 7 rows"):
        task.score(task.prepare(ROWS), logits)
