"""Inputs and outputs of exported models, the same in every format."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_keras.export import EXPORTERS, signatures
from albert_keras.models import (
    HEADS,
    AlbertTextClassifier,
)
from tests.converters.saving_test import make_model
from tests.export.conftest import assert_serves
from tests.helpers import max_difference
from tools.verify_conversion import random_inputs


def test_classifier_outputs_agree_with_its_logits(classifier, random_features):
    serve = signatures.serve_features(classifier, labels=["bad", "so-so", "göod"])
    features = random_features(classifier, batch=5, sequence_length=11)
    outputs = {name: value.numpy() for name, value in serve(**features).items()}
    exponentials = np.exp(outputs["logits"])
    best = outputs["logits"].argmax(axis=-1)

    assert sorted(outputs) == ["label", "logits", "probabilities"]
    np.testing.assert_allclose(
        outputs["probabilities"],
        exponentials / exponentials.sum(axis=-1, keepdims=True),
        atol=1e-6,
    )
    assert [label.decode() for label in outputs["label"]] == [
        ["bad", "so-so", "göod"][index] for index in best
    ]
    for name, wrong in ("token_ids", -1), ("token_ids", 211), ("segment_ids", -1):
        ids = np.full((5, 11), wrong, "int32")
        with pytest.raises(tf.errors.InvalidArgumentError, match="is not in"):
            serve(**{**features, name: ids})


@pytest.mark.parametrize("by", ["activation", "loss"])
def test_classes_of_which_several_hold_have_sigmoid_probabilities(
    by, backbone, random_features
):
    keras.utils.set_random_seed(3)
    activation = "sigmoid" if by == "activation" else None
    model = AlbertTextClassifier(backbone, num_classes=3, activation=activation)
    if by == "loss":
        model.compile(loss=keras.losses.BinaryCrossentropy(from_logits=True))
    features = random_features(model, 5, 11)
    outputs = signatures.serve_features(model)(**features)
    assert sorted(outputs) == (["logits"] if by == "loss" else []) + ["probabilities"]
    expected = model(features)
    if by == "loss":
        expected = keras.ops.sigmoid(expected)
    assert max_difference(outputs["probabilities"], expected) < 1e-6
    named = signatures.serve_features(model, signatures.choose_labels(model, "abc"))
    assert named(**features).keys() == outputs.keys()


def test_regression_has_a_score_and_no_probabilities(backbone, random_features):
    regression = AlbertTextClassifier(backbone, num_classes=1)
    serve = signatures.serve_features(regression)
    outputs = serve(**random_features(regression, 2, 7))
    assert sorted(outputs) == ["logits", "score"]
    assert (outputs["score"].numpy() == outputs["logits"].numpy()[:, 0]).all()


def test_labels_must_name_the_classes(classifier):
    with pytest.raises(ValueError, match="must be 3 different strings .*Received: lab"):
        signatures.choose_labels(classifier, ["bad", "good"])


def test_labels_need_classes(backbone):
    with pytest.raises(ValueError, match=r"labels=\['a', 'b'\] for AlbertBackbone"):
        signatures.choose_labels(backbone, ["a", "b"])


def test_text_needs_a_model_of_text_alone(pretrainer, tokenizer):
    # Choices have several rows a text.
    for model, inputs in {
        pretrainer: "token_ids, .*, mask_positions",
        make_model("multiple_choice"): "token_ids",
    }.items():
        message = f"{type(model).__name__} with inputs {inputs}"
        with pytest.raises(ValueError, match=message):
            signatures.check_tokenizer(model, tokenizer)


@pytest.mark.parametrize("sequence_length", [2, 20])
def test_sequence_length_must_fit_the_model(backbone, sequence_length):
    message = f"from 3 to .* 19 positions. Received: .*={sequence_length}"
    with pytest.raises(ValueError, match=message):
        signatures.choose_sequence_length(backbone, sequence_length)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPORTERS)
def test_other_backends_are_refused(name, backbone, tmp_path, monkeypatch):
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    with pytest.raises(ValueError, match="Received: KERAS_BACKEND=jax."):
        EXPORTERS[name].write(backbone, tmp_path / "model")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("head", [None, *HEADS])
def test_every_head_is_served_with_its_own_inputs(head):
    model = make_model(head, num_layers=2)
    inputs = random_inputs(model, seed=3)
    length = inputs["token_ids"].shape[-1]
    serve = signatures.serve_features(model, None, length)
    assert_serves(model, inputs, serve(**inputs))
