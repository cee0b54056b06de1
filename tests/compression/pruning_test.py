"""Attention heads that are masked, and models of their first layers."""

import numpy as np
import pytest

from albert_keras.compression import ShallowModel, attention_heads, masked_heads
from albert_keras.converters import change_architecture
from albert_keras.models import AlbertBackbone, AlbertTextClassifier
from albert_keras.train_step import infer
from tests.helpers import make_config, make_inputs, randomize

INPUTS = make_inputs()


def make_model(**fields):
    backbone = AlbertBackbone(**make_config(initializer_range=0.2, **fields).to_dict())
    return randomize(AlbertTextClassifier(backbone, num_classes=2))


@pytest.mark.parametrize(
    ("fields", "layers"),
    [
        ({}, [(1, 2, 3)]),
        ({"sharing": "ffn"}, [(1,), (2,), (3,)]),
        ({"num_groups": 2}, [(1, 2), (3,)]),
    ],
)
def test_layers_that_share_attention_have_its_heads_once(fields, layers):
    heads = attention_heads(make_model(**fields).backbone)
    assert [head.layers for head in heads[::4]] == layers
    assert [head.head for head in heads] == [1, 2, 3, 4] * len(layers)


def test_a_masked_head_gives_nothing_to_the_next_sub_layer():
    model = make_model(sharing="none")
    before = infer(model, INPUTS)
    heads = attention_heads(model.backbone)
    second = heads[5]
    assert (second.layers, second.head) == ((2,), 2)
    with masked_heads([second]):
        masked = infer(model, INPUTS)
        # Whatever the head computes.
        value = second.attention.value.kernel
        noisy = np.array(value)
        noisy[:, 7:14] += 3.0
        value.assign(noisy)
        again = infer(model, INPUTS)
    assert np.abs(masked - before).max() > 1e-3
    np.testing.assert_allclose(again, masked, atol=1e-6)
    noisy[:, 7:14] -= 3.0
    value.assign(noisy)
    np.testing.assert_allclose(infer(model, INPUTS), before, atol=1e-5)


def test_weights_return_after_an_error():
    model = make_model()
    before = infer(model, INPUTS)
    with pytest.raises(KeyError), masked_heads(attention_heads(model.backbone)):
        raise KeyError
    np.testing.assert_array_equal(infer(model, INPUTS), before)


def test_shallow_models_apply_their_first_layers():
    model = make_model()
    cut = infer(ShallowModel(model, 2), INPUTS)
    # Of shared layers two are the first two.
    expected = infer(change_architecture(model, num_layers=2), INPUTS)
    np.testing.assert_allclose(cut, expected, atol=1e-6)
    assert model.backbone.encoder_stack.depth is None
    assert np.abs(infer(model, INPUTS) - cut).max() > 1e-3
