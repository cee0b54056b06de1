"""Inputs and outputs of exported models, the same in every format."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from scipy.special import softmax

from albert_keras.export import EXPORTERS, signatures
from albert_keras.models import AlbertTextClassifier
from tests.helpers import max_difference
from tools.verify_conversion import random_inputs


def test_classifier_outputs_agree_with_its_logits(classifier):
    labels = ["bad", "so-so", "göod"]
    spec = signatures.spec_to_export(classifier, labels)
    serve = signatures.serve_features(spec, with_label=True)
    features = random_inputs(classifier, 5)
    outputs = {name: value.numpy() for name, value in serve(**features).items()}
    assert sorted(outputs) == ["label", "logits", "probabilities"]
    expected = softmax(outputs["logits"], axis=-1)
    assert max_difference(outputs["probabilities"], expected) < 1e-6
    best = [labels[index] for index in outputs["logits"].argmax(axis=-1)]
    assert [label.decode() for label in outputs["label"]] == best
    for name, wrong in ("token_ids", -1), ("token_ids", 211), ("segment_ids", -1):
        ids = np.full_like(features[name], wrong)
        with pytest.raises(tf.errors.InvalidArgumentError, match="is not in"):
            serve(**{**features, name: ids})


@pytest.mark.parametrize("by", ["activation", "loss"])
def test_classes_of_which_several_hold_have_sigmoid_probabilities(by, backbone):
    keras.utils.set_random_seed(3)
    activation = "sigmoid" if by == "activation" else None
    model = AlbertTextClassifier(backbone, num_classes=3, activation=activation)
    if by == "loss":
        model.compile(loss=keras.losses.BinaryCrossentropy(from_logits=True))
    features = random_inputs(model, 5)
    spec = signatures.spec_to_export(model)
    outputs = signatures.serve_features(spec, with_label=True)(**features)
    assert sorted(outputs) == (["logits"] if by == "loss" else []) + ["probabilities"]
    expected = model(features)
    if by == "loss":
        expected = keras.ops.sigmoid(expected)
    assert max_difference(outputs["probabilities"], expected) < 1e-6
    assert spec.labels == ("0", "1", "2")


def test_regression_has_a_score_and_no_probabilities(backbone):
    regression = AlbertTextClassifier(backbone, num_classes=1)
    serve = signatures.serve_features(regression.export_spec())
    outputs = serve(**random_inputs(regression, 2))
    assert sorted(outputs) == ["logits", "score"]
    assert (outputs["score"].numpy() == outputs["logits"].numpy()[:, 0]).all()


def test_labels_must_name_the_classes(classifier, backbone):
    with pytest.raises(ValueError, match="must be 3 different strings .*Received: lab"):
        signatures.spec_to_export(classifier, ["bad", "good"])
    with pytest.raises(ValueError, match=r"labels=\['a', 'b'\] for AlbertBackbone"):
        signatures.spec_to_export(backbone, ["a", "b"])


@pytest.mark.parametrize("sequence_length", [2, 20])
def test_sequence_length_must_fit_the_model(backbone, sequence_length):
    message = f"from 3 to .* 19 positions. Received: .*={sequence_length}"
    with pytest.raises(ValueError, match=message):
        signatures.choose_sequence_length(backbone.export_spec(), sequence_length)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPORTERS)
def test_other_backends_are_refused(name, backbone, tmp_path, monkeypatch):
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    with pytest.raises(ValueError, match="Received: KERAS_BACKEND=jax."):
        EXPORTERS[name].write(backbone, tmp_path / "model" / "1")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
