"""Defaults of the heads for fine-tuning, and arguments that replace them."""

import keras
import numpy as np
import pytest

from albert_keras.models import (
    AlbertBackbone,
    AlbertJointQuestionAnswerer,
    AlbertMultipleChoice,
    AlbertQuestionAnswerer,
    AlbertTextClassifier,
    AlbertTokenClassifier,
)
from albert_keras.models.task import FineTuned
from albert_keras.optimizers import AdamW
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
    # The optimizer of `albert-keras finetune`.
    expected = AdamW(2e-5, weight_decay=0.01, global_clipnorm=1.0)
    assert isinstance(model.optimizer, AdamW)
    assert model.optimizer.get_config() == {
        **expected.get_config(),
        "name": model.optimizer.name,
    }
    assert model.get_compile_config()["weighted_metrics"]
    model.compile("sgd", metrics=None)
    assert isinstance(model.optimizer, keras.optimizers.SGD)
    assert not model.get_compile_config()["weighted_metrics"]


@pytest.mark.parametrize("head", [*HEADS, AlbertJointQuestionAnswerer])
def test_losses_weigh_a_half_each_in_question_answering_only(head):
    backbone = AlbertBackbone(**make_config(num_layers=2).to_dict())
    model = head(backbone, **HEADS.get(head, {}))
    model.compile()
    answers = (AlbertQuestionAnswerer, AlbertJointQuestionAnswerer)
    expected = dict.fromkeys(model.output, 0.5) if head in answers else None
    assert model.get_compile_config()["loss_weights"] == expected


class TwoLogits(FineTuned, keras.Model):
    """A head with a dict of outputs that answers no questions."""


def test_losses_of_other_dicts_weigh_one():
    inputs = keras.Input((3,))
    logits = {name: keras.layers.Dense(2)(inputs) for name in ("first", "second")}
    model = TwoLogits(inputs, logits)
    model.compile(loss=dict.fromkeys(logits, "mse"), metrics=None)
    targets = dict.fromkeys(logits, np.zeros((5, 2)))
    logs = model.evaluate(np.ones((5, 3)), targets, verbose=0, return_dict=True)
    total = logs["first_loss"] + logs["second_loss"]
    assert logs["loss"] == pytest.approx(total, rel=1e-6)
