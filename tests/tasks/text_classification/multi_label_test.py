"""Any number of labels a row: targets, scores, and learning them by heart."""

import numpy as np
import pytest

from albert_keras.runs.predictions import mistakes_of
from albert_keras.tasks import MultiLabelTask, PreparedRows
from albert_keras.tasks.text_classification.reading import LabelledTexts
from tests.tasks.task_checks import run_task_test

ROWS = LabelledTexts(
    [
        "the soup was warm and very good",
        "the film was long and dull",
        "a walk by the river",
        "good bread and a good cheese by the river",
        "the boat went down the river to the sea",
    ],
    [("food", "good"), ("dull",), (), ("river", "food", "good"), ("river",)],
)
NAMES = ("dull", "food", "good", "river")
TARGETS = [[0, 1, 1, 0], [1, 0, 0, 0], [0, 0, 0, 0], [0, 1, 1, 1], [0, 0, 0, 1]]


def labelled(**options):
    return MultiLabelTask(labels=NAMES, **options)


@pytest.mark.slow
def test_labels_are_learned(tokenizer, tmp_path):
    task, prepared, model, probabilities = run_task_test(
        MultiLabelTask(), ROWS, tokenizer, tmp_path, learned=("subset_accuracy", 1.0)
    )
    assert task.labels == NAMES
    assert task.targets(ROWS).tolist() == TARGETS
    assert model.activation.__name__ == "sigmoid"
    scores = task.score(prepared, probabilities)
    features = task.features(prepared.examples.padded(range(5), 23))
    loss, _ = model.evaluate(features, np.array(TARGETS, "float32"), verbose=0)
    assert scores["loss"] == pytest.approx(loss, rel=1e-3)
    row = task.describe(prepared, probabilities)[3]
    assert row["labels"] == ["food", "good", "river"]
    assert row["label"] == "food|good|river"
    assert row["probabilities"]["river"] == pytest.approx(probabilities[3, 3])
    assert task.notes(prepared)[0] == "labels: 'food' 2, 'good' 2, 'river' 2, 'dull' 1"


def test_scores_of_labels_by_hand():
    class Prepared:
        rows = ROWS

    # Right but for a missing "good", a missing "dull" and a superfluous "river".
    probabilities = np.array(TARGETS, "float32") * 0.8 + 0.1
    probabilities[0, 2], probabilities[1, 0], probabilities[2, 3] = 0.5, 0.2, 0.6
    scores = labelled().score(Prepared, probabilities)
    assert scores["micro_f1"] == pytest.approx(2 * 5 / (6 + 7))
    assert scores["macro_f1"] == pytest.approx((0 + 1 + 2 / 3 + 4 / 5) / 4)
    assert scores["subset_accuracy"] == pytest.approx(2 / 5)
    task, mistakes = labelled(), {}
    for row in mistakes_of(task, PreparedRows(ROWS, None), probabilities):
        mistakes[row["label"]] = (row["prediction"], row["probability"])
    assert [*mistakes] == ["food|good", "", "dull"]
    assert mistakes["dull"] == ("", pytest.approx(0.2))
    assert mistakes["food|good"] == ("food", pytest.approx(0.9))
    assert scores["majority_accuracy"] == pytest.approx(1 / 5)
    assert scores["num_predicted_labels"] == 4
    of_target = [0.9] * 17 + [0.5, 0.2, 0.4]
    assert scores["loss"] == pytest.approx(-np.log(of_target).mean(), rel=1e-6)
    report = labelled().report(Prepared, probabilities)
    good = {"label": "good", "precision": 1.0, "recall": 0.5, "f1": 2 / 3, "support": 2}
    assert report["classes"][2] == good


def test_prior_loss_is_that_of_the_labels_frequencies(tokenizer):
    task = labelled(label_smoothing=0.2).for_run(ROWS, tokenizer)
    prepared = task.prepare(ROWS, training=True)
    shares = 0.8 * np.mean(TARGETS, axis=0, dtype="float32") + 0.1
    loss = task.losses()(np.array(TARGETS, "float32"), np.tile(shares, (5, 1)))
    assert task.prior_loss(prepared) == pytest.approx(float(loss), rel=1e-5)


def test_bad_options():
    with pytest.raises(ValueError, match="several labels a row.*class_weights=.bal"):
        MultiLabelTask(class_weights="balanced")
    with pytest.raises(ValueError, match="several labels a row.*early_exit='joint'"):
        MultiLabelTask(early_exit="joint")
    with pytest.raises(ValueError, match="Received: label_separator=None"):
        MultiLabelTask().with_columns(label_separator=None)
    with pytest.raises(ValueError, match="one of dull, food, .* Received: sea"):
        labelled().targets(ROWS._replace(labels=[("sea",)]))
