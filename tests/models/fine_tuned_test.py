"""Heads of one dense layer: classes and their names, tags, spans and choices."""

import keras
import numpy as np
import pytest

from albert_keras.models import (
    AlbertMultipleChoice,
    AlbertQuestionAnswerer,
    AlbertTextClassifier,
    AlbertTokenClassifier,
)
from albert_keras.models.classes import is_multi_label
from tests.helpers import max_difference
from tests.models.small_models import CHOICES, INPUTS, NUM_CHOICES, make_model

NAMES = ["bad", "so-so", "göod"]
both_classifiers = pytest.mark.parametrize(
    "kind", [AlbertTextClassifier, AlbertTokenClassifier]
)


@both_classifiers
def test_labels_are_in_the_config(kind):
    model = make_model(kind, num_classes=3, labels=NAMES)
    assert model.labels == tuple(NAMES)
    assert kind.from_config(model.get_config()).labels == model.labels
    # As in presets of earlier versions.
    config = {name: v for name, v in model.get_config().items() if name != "labels"}
    assert kind.from_config(config).labels is None


@pytest.mark.parametrize("labels", [NAMES[:2], ["a", "a", "b"], ["a", "b\x85", "d"]])
@both_classifiers
def test_labels_must_name_the_classes(kind, labels):
    with pytest.raises(ValueError, match="must be 3 different strings .*Received: lab"):
        make_model(kind, num_classes=3, labels=labels)


@pytest.mark.filterwarnings("ignore:A cross-entropy must read logits")
@pytest.mark.parametrize(
    ("activation", "loss", "expected"),
    [
        (None, "auto", False),
        ("softmax", "auto", False),
        ("sigmoid", "auto", True),
        (None, keras.losses.BinaryCrossentropy(from_logits=True), True),
        (None, keras.losses.binary_crossentropy, True),
    ],
)
def test_activation_or_loss_say_that_several_classes_hold(activation, loss, expected):
    model = make_model(AlbertTextClassifier, num_classes=11, activation=activation)
    model.compile(loss=loss, jit_compile=False)
    assert is_multi_label(model) == expected


def test_tokens_without_weight_have_no_loss():
    tagger = make_model(AlbertTokenClassifier, num_classes=7, dropout=0.0)
    labels = np.array(tagger(INPUTS)).argmax(-1)
    weights = INPUTS["padding_mask"].astype("float32")
    wrong = np.where(weights > 0, labels, (labels + 1) % 7)
    logs = [
        tagger.evaluate(INPUTS, y, sample_weight=weights, return_dict=True, verbose=0)
        for y in (labels, wrong)
    ]
    assert logs[0] == pytest.approx(logs[1], rel=1e-6)
    assert logs[0]["accuracy"] == 1.0


def test_loss_of_an_answer_is_the_mean_of_both_positions():
    answerer = make_model(AlbertQuestionAnswerer)
    labels = {
        "start_logits": np.array([0, 2, 4, 1, 3]),
        "end_logits": np.array([5, 2, 5, 4, 3]),
    }
    logs = answerer.evaluate(INPUTS, labels, return_dict=True, verbose=0)
    logits, cross_entropy = answerer(INPUTS), keras.losses.SparseCategoricalCrossentropy
    losses = [
        float(cross_entropy(from_logits=True)(labels[name], logits[name]))
        for name in labels
    ]
    assert logs["loss"] == pytest.approx(sum(losses) / 2, rel=1e-6)
    assert {"start_logits_accuracy", "end_logits_accuracy"} <= logs.keys()


def test_scores_do_not_depend_on_other_choices():
    chooser = make_model(AlbertMultipleChoice)
    scorer = AlbertTextClassifier(chooser.backbone, num_classes=1)
    scorer.output_dense.set_weights(chooser.output_dense.get_weights())
    rows = {name: value.reshape(12, 13) for name, value in CHOICES.items()}
    scores = np.array(scorer(rows)).reshape(3, NUM_CHOICES)
    assert max_difference(chooser(CHOICES), scores) < 1e-6
