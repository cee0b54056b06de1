"""Names of classes in the model's config, and whether several classes may hold."""

import keras
import pytest

from albert_keras.models.classes import is_multi_label
from tests.models.classifier_test import make_classifier
from tests.models.token_classifier_test import make_tagger

NAMES = ["bad", "so-so", "göod"]


@pytest.mark.parametrize("make_model", [make_classifier, make_tagger])
def test_labels_are_in_the_config(make_model):
    model = make_model(num_classes=3, labels=NAMES)
    assert model.labels == tuple(NAMES)
    assert type(model).from_config(model.get_config()).labels == model.labels
    # As in presets of earlier versions.
    config = {name: v for name, v in model.get_config().items() if name != "labels"}
    assert type(model).from_config(config).labels is None


@pytest.mark.parametrize("labels", [NAMES[:2], ["a", "a", "b"], ["a", "b\x85", "d"]])
@pytest.mark.parametrize("make_model", [make_classifier, make_tagger])
def test_labels_must_name_the_classes(make_model, labels):
    with pytest.raises(ValueError, match="must be 3 different strings .*Received: lab"):
        make_model(num_classes=3, labels=labels)


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
    model = make_classifier(activation=activation)
    model.compile(loss=loss, jit_compile=False)
    assert is_multi_label(model) == expected
