"""Attention sub-layer: formula, masks, dropout, and the functions behind it."""

import keras
import numpy as np
import pytest

from albert_keras.layers import SelfAttention, attention_bias
from albert_keras.layers.attention import attend, attention_scores, weigh_values
from tests.helpers import make_config, make_inputs, max_difference, randomize

HIDDEN = np.random.default_rng(3).normal(size=(5, 13, 28)).astype("float32")
MASK = make_inputs()["padding_mask"]
BIAS = np.array(attention_bias(MASK))
SCORES_TOO = {"return_attention_scores": True}


def random_attention(dtype=None, **fields):
    attention = SelfAttention(make_config(**fields), dtype=dtype)
    attention(HIDDEN, BIAS)
    return randomize(attention)


def test_scores_come_only_where_they_are_asked_for():
    attention = random_attention()
    output = attention(HIDDEN, BIAS)
    again, scores = attention(HIDDEN, BIAS, **SCORES_TOO)
    assert max_difference(again, output) < 1e-5
    assert tuple(scores.shape) == (5, 4, 13, 13)
    placeholders = keras.KerasTensor(HIDDEN.shape), keras.KerasTensor(BIAS.shape)
    assert attention(*placeholders).shape == HIDDEN.shape
    stated = attention(*placeholders, **SCORES_TOO)
    assert [tensor.shape for tensor in stated] == [HIDDEN.shape, (5, 4, 13, 13)]


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16", "mixed_float16"])
def test_mask_is_safe_where_a_row_is_all_padding(policy):
    attention = random_attention(policy)
    mask = MASK * (np.arange(5) != 2)[:, np.newaxis]
    # Some scores of these activations are in the thousands.
    output, scores = attention(HIDDEN * 60.0, attention_bias(mask), **SCORES_TOO)
    assert scores.dtype == "float32"
    assert np.isfinite(np.array(keras.ops.cast(output, "float32"))).all()
    assert np.abs(np.array(scores).sum(-1) - 1.0).max() < 1e-5


def dropped_units(config):
    """Returns which units of rows of one real token lost their only attention weight.

    A unit of value 1 becomes 0 or 1 / (1 - rate). The normalization of the row shifts
    and scales these two values, but keeps them apart.
    """
    layer = SelfAttention(config)
    x = np.zeros((30, 2, config.hidden_dim), "float32")
    bias = attention_bias(np.tile([1, 0], (30, 1)))
    layer(x, bias)
    layer.value.bias.assign(np.ones(config.hidden_dim))
    layer.projection.kernel.assign(np.eye(config.hidden_dim))
    seeds = [keras.ops.array([3, index], "uint32") for index in range(2)]
    output = np.array(layer(x, bias, seeds=seeds))[:, 0]
    return output.reshape(30, config.num_heads, -1) < 0.0


def test_attention_dropout_drops_whole_heads_at_its_own_rate():
    config = make_config(num_heads=50, hidden_dim=150, attention_dropout=0.3)
    dropped = dropped_units(config)
    assert (dropped.all(-1) == dropped.any(-1)).all()
    # 1500 heads: three standard deviations are 0.036.
    assert dropped.all(-1).mean() == pytest.approx(0.3, abs=0.036)


def test_hidden_dropout_drops_single_units_at_its_own_rate():
    rates = {"dropout": 0.3, "attention_dropout": 0.0}
    dropped = dropped_units(make_config(num_heads=50, hidden_dim=150, **rates))
    # 4500 units: three standard deviations are 0.021.
    assert dropped.mean() == pytest.approx(0.3, abs=0.021)
    # The three units of a head fall together only by chance: 0.3 ** 3.
    assert dropped.all(-1).mean() == pytest.approx(0.027, abs=0.013)


# Numbers of bfloat16 from 2 to 4 are 0.016 apart, and processors round differently.
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("float32", 1e-5), ("bfloat16", 4e-2)]
)
def test_all_attention_functions_agree(dtype, tolerance):
    random = np.random.default_rng(4)
    query_key_value = [
        keras.ops.cast(random.normal(size=(5, 13, 4, 7)).astype("float32"), dtype)
        for _ in range(3)
    ]
    query, key, value = (keras.ops.cast(x, "float32") for x in query_key_value)
    own = random.integers(0, 2, (5, 13, 13)) | np.eye(13, dtype=int)
    padded = MASK * (np.arange(5) != 2)[:, np.newaxis]
    for mask in (MASK, padded, own):
        bias = attention_bias(mask)
        expected = weigh_values(attention_scores(query, key, bias), value)
        for function in (attend, keras.ops.dot_product_attention):
            context = function(*query_key_value, bias=bias)
            assert tuple(context.shape) == (5, 13, 4, 7)
            context = keras.ops.cast(context, "float32")
            assert max_difference(context, expected) < tolerance, function


# === Biases of masks ===


def test_bias_of_both_kinds_of_masks():
    bias = np.array(attention_bias(MASK))
    assert np.array_equal(bias[:, 0, 0], np.where(MASK == 1, 0.0, -10000.0))
    own = np.random.default_rng(5).integers(0, 2, (5, 13, 13)).astype(bool)
    expected = np.where(own, 0.0, -10000.0)
    assert np.array_equal(np.array(attention_bias(own))[:, 0], expected)
