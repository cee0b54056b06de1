"""Classification of any table: labels, model, evaluation."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_keras.data import LabelledTexts
from albert_keras.models import AlbertBackbone
from albert_keras.tasks import TextClassificationTask

ROWS = LabelledTexts(
    ["aa", "b", "cccc", "dd", "e", "ffff", "g"], ["x", "z", "y", "x", "z", "y", "z"]
)


@keras.saving.register_keras_serializable(package="tests")
class LengthPreprocessor(keras.layers.Layer):
    """Inputs that hold nothing but the text's length."""

    def call(self, texts):
        ids = tf.repeat(tf.strings.length(texts)[:, None], 5, axis=1)
        return {
            "token_ids": ids,
            "segment_ids": tf.zeros_like(ids),
            "padding_mask": tf.ones_like(ids),
        }


@pytest.fixture
def task():
    return TextClassificationTask().for_run(ROWS, LengthPreprocessor())


def test_labels_are_those_of_the_training_rows_sorted(task):
    assert task.labels == ("x", "y", "z")
    with pytest.raises(ValueError, match="two labels. Received: labels=x"):
        TextClassificationTask().for_run(LabelledTexts(["a"], ["x"]), None)


def test_given_labels_come_first(task):
    again = task.for_run(ROWS, None, labels=["z", "y", "x", "w"])
    assert again.labels == ("z", "y", "x", "w")


def test_with_columns_changes_only_what_is_given():
    task = TextClassificationTask(text_column="a", label_column="b")
    changed = task.with_columns(label_column="c")
    assert (changed.text_column, changed.label_column) == ("a", "c")


def test_model_and_evaluation_agree_with_predict(task):
    model = task.build_model(AlbertBackbone.from_config_preset("albert_test"))
    dataset = task.make_dataset(ROWS, 3)
    logits = model.predict(dataset, verbose=0)
    expected = [task.labels.index(label) for label in ROWS.labels]
    results = task.evaluate(model, ROWS, 3)
    assert results["accuracy"] == pytest.approx(np.mean(logits.argmax(-1) == expected))
    log_probs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    loss = -log_probs[np.arange(7), expected].mean()
    assert results["loss"] == pytest.approx(loss, abs=1e-5)
    assert results["majority_accuracy"] == pytest.approx(3 / 7)
    assert results["num_examples"] == 7


def test_losses_and_metrics_train(task):
    model = task.build_model(AlbertBackbone.from_config_preset("albert_test"))
    model.compile("adam", task.losses(), weighted_metrics=task.metrics())
    history = model.fit(task.make_dataset(ROWS, 7, seed=1).take(2), verbose=0)
    assert {"loss", "accuracy"} <= set(history.history)
