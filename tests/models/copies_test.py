"""Copies of models in float32, with weights, labels, preprocessor and loss."""

import keras

from albert_keras.models.classes import is_multi_label
from albert_keras.models.copies import in_precision
from tests.helpers import make_inputs, max_difference
from tests.models.classifier_test import make_classifier


def test_a_model_in_float32_is_no_copy():
    model = make_classifier()
    assert in_precision(model) is model


def test_a_copy_computes_in_precision():
    model = make_classifier("mixed_bfloat16", num_classes=2, labels=["a", "b"])
    model.compile(loss=keras.losses.BinaryCrossentropy(from_logits=True))
    copy = in_precision(model)
    assert type(copy) is type(model)
    assert copy.backbone.compute_dtype == "float32"
    assert copy.labels == ("a", "b")
    assert is_multi_label(copy)
    assert max_difference(copy.get_weights(), model.get_weights()) == 0.0
    assert max_difference(copy(make_inputs()), model(make_inputs())) < 0.02
    backbone = in_precision(model.backbone)
    assert max_difference(backbone.get_weights(), model.backbone.get_weights()) == 0.0
