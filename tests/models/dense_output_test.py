"""What the heads for fine-tuning have in common: defaults, saved and given."""

import keras
import pytest

from albert_keras.models import (
    AlbertBackbone,
    AlbertJointQuestionAnswerer,
    AlbertMultipleChoice,
    AlbertQuestionAnswerer,
    AlbertTextClassifier,
    AlbertTokenClassifier,
)
from tests.helpers import make_config

HEADS = {
    AlbertTextClassifier: {"num_classes": 7},
    AlbertTokenClassifier: {"num_classes": 7},
    AlbertQuestionAnswerer: {},
    AlbertMultipleChoice: {},
}


@pytest.mark.parametrize("head", HEADS)
def test_layer_is_called_logits_and_dropout_is_kept(head):
    backbone = AlbertBackbone(**make_config(num_layers=2).to_dict())
    model = head(backbone, dropout=0.3, **HEADS[head])
    assert [variable.path for variable in model.weights[-2:]] == [
        "logits/kernel",
        "logits/bias",
    ]
    assert model.get_config()["dropout"] == 0.3
    assert model.output_dropout.rate == 0.3


@pytest.mark.parametrize("head", [*HEADS, AlbertJointQuestionAnswerer])
def test_given_arguments_replace_the_defaults(head):
    backbone = AlbertBackbone(**make_config(num_layers=2).to_dict())
    model = head(backbone, **HEADS.get(head, {}))
    model.compile()
    assert isinstance(model.optimizer, keras.optimizers.AdamW)
    assert model.get_compile_config()["weighted_metrics"]
    model.compile("sgd", metrics=None)
    assert isinstance(model.optimizer, keras.optimizers.SGD)
    assert not model.get_compile_config()["weighted_metrics"]
