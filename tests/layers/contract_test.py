"""Every layer gives one result, however it is called, saved or loaded."""

import functools

import keras
import pytest

from albert_keras.layers import (
    EncoderStack,
    FactorizedEmbedding,
    FeedForward,
    SelfAttention,
    attention_bias,
)
from tests.helpers import make_config, make_inputs, run_layer_test
from tests.layers import heads_test, span_heads_test

IDS = {name: make_inputs()[name] for name in ("token_ids", "segment_ids")}
MASK = {"attention_mask": make_inputs()["padding_mask"]}
HIDDEN = {"x": heads_test.INPUTS["sequence_output"]}
STATES = (5, 13, 28)


@keras.saving.register_keras_serializable(package="tests")
class MaskedAttention(SelfAttention):
    """Sub-layer of a mask, so that it can be called at another length."""

    def call(self, x, attention_mask):
        return super().call(x, attention_bias(attention_mask))


# Class, fields of the config, inputs, and the shape of the output.
LAYERS = {
    "embedding": (FactorizedEmbedding, {"embedding_dim": 9}, IDS, STATES),
    "embedding, wide": (FactorizedEmbedding, {"embedding_dim": 28}, IDS, STATES),
    "attention": (MaskedAttention, {}, HIDDEN | MASK, STATES),
    "feed-forward": (FeedForward, {"activation": "silu"}, HIDDEN, STATES),
    "stack": (EncoderStack, {"num_layers": 2}, HIDDEN | MASK, STATES),
    **{head: (head, {}, *case) for head, case in span_heads_test.HEADS.items()},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LAYERS)
def test_one_result_however_used(name, tmp_path):
    kind, fields, inputs, shape = LAYERS[name]
    make = functools.partial(kind, make_config(**fields))
    run_layer_test(make, inputs, shape, tmp_path)


def test_one_result_of_the_head_of_masked_words(tmp_path):
    run_layer_test(heads_test.make_head, heads_test.INPUTS, (5, 6, 61), tmp_path)


@pytest.mark.parametrize("head", span_heads_test.HEADS)
def test_logits_of_half_precision_are_float32(head):
    inputs, _ = span_heads_test.HEADS[head]
    assert head(make_config(), dtype="mixed_float16")(**inputs).dtype == "float32"
