"""Hyperparameters: published values, round trips, and invalid values."""

import json

import pytest

from albert_keras.config import PRESETS, AlbertConfig
from tests.helpers import make_config

NAMES = ("num_layers", "num_heads", "embedding_dim", "hidden_dim", "vocabulary_size")
NAMES += ("dropout", "activation", "initializer_range")
# Values of `NAMES` in the reference implementations.
PUBLISHED = {
    "albert_base_v1": (12, 12, 128, 768, 30000, 0.1, "gelu_tanh", 0.02),
    "albert_large_v1": (24, 16, 128, 1024, 30000, 0.1, "gelu_tanh", 0.02),
    "albert_xlarge_v1": (24, 16, 128, 2048, 30000, 0.1, "gelu_tanh", 0.02),
    "albert_xxlarge_v1": (12, 64, 128, 4096, 30000, 0.0, "gelu_tanh", 0.02),
    "albert_base_v2": (12, 12, 128, 768, 30000, 0.0, "gelu_tanh", 0.02),
    "albert_large_v2": (24, 16, 128, 1024, 30000, 0.0, "gelu_tanh", 0.02),
    "albert_xlarge_v2": (24, 16, 128, 2048, 30000, 0.0, "gelu_tanh", 0.02),
    "albert_xxlarge_v2": (12, 64, 128, 4096, 30000, 0.0, "gelu_tanh", 0.02),
    "albert_tiny_zh": (4, 12, 128, 312, 21128, 0.0, "gelu_tanh", 0.02),
    "albert_small_zh": (6, 12, 128, 384, 21128, 0.0, "gelu_tanh", 0.02),
    "albert_base_zh": (12, 12, 128, 768, 21128, 0.0, "relu", 0.02),
    "albert_large_zh": (24, 16, 128, 1024, 21128, 0.0, "relu", 0.02),
    "albert_xlarge_zh": (24, 16, 128, 2048, 21128, 0.0, "relu", 0.014),
    "albert_xxlarge_zh": (12, 16, 128, 4096, 21128, 0.0, "relu", 0.01),
    "bert_base": (12, 12, 768, 768, 30000, 0.1, "gelu_tanh", 0.02),
    "bert_large": (24, 16, 1024, 1024, 30000, 0.1, "gelu_tanh", 0.02),
    "bert_xlarge": (24, 32, 2048, 2048, 30000, 0.1, "gelu_tanh", 0.02),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_preset_has_the_published_values(name):
    config = PRESETS[name]
    assert PUBLISHED[name] == tuple(getattr(config, name) for name in NAMES)
    assert config.intermediate_dim == 4 * config.hidden_dim
    assert config.attention_dropout_rate == config.dropout
    assert config.sharing == ("none" if name.startswith("bert") else "all")
    assert (config.num_groups, config.num_inner_repetitions) == (1, 1)
    assert (config.max_sequence_length, config.num_segments) == (512, 2)
    assert config.layer_norm_epsilon == 1e-12


@pytest.mark.parametrize("name", PRESETS)
def test_dict_round_trip_through_json(name):
    values = json.loads(json.dumps(PRESETS[name].to_dict()))
    assert AlbertConfig.from_dict(values) == PRESETS[name]


def test_from_preset_replaces_fields():
    config = AlbertConfig.from_preset("albert_base_v2", num_layers=3, sharing="ffn")
    assert (config.num_layers, config.sharing, config.hidden_dim) == (3, "ffn", 768)


def test_attention_dropout_defaults_to_dropout():
    assert make_config(dropout=0.1).attention_dropout_rate == 0.1
    assert make_config(dropout=0.1, attention_dropout=0.3).attention_dropout_rate == 0.3
    assert make_config(dropout=0.1, attention_dropout=0.0).attention_dropout_rate == 0.0


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("vocabulary_size", 0, "integer, 1 to .*Received: vocabulary_size=0"),
        ("num_layers", -2, "integer, 1 to .*Received: num_layers=-2"),
        ("num_heads", 3.0, "integer, 1 to .*Received: num_heads=3.0"),
        ("hidden_dim", True, "integer, 1 to .*Received: hidden_dim=True"),
        ("num_inner_repetitions", 50, "at most 128. Received: num_layers=3, num"),
        ("num_segments", None, "Received: num_segments=None"),
        ("num_layers", 10**400, "1 to 128. Received: num_layers=1000"),
        ("rematerialization", 1, "True or False. Received: rematerialization=1"),
        ("hidden_dim", 29, "divisible by `num_heads`.*hidden_dim=29, num_heads=4"),
        ("dropout", 1.0, "at least 0 and less than 1. Received: dropout=1.0"),
        ("layer_norm_epsilon", 0.0, "finite number.*Received: layer_norm_epsilon=0.0"),
        ("sharing", "some", "all, attention, ffn, none. Received: sharing='some'"),
    ],
)
def test_value_outside_its_range_is_refused(field, value, message):
    with pytest.raises(ValueError, match=message):
        make_config(**{field: value})


def test_unknown_preset_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"albert_base_v2.*name='albert_huge'"):
        AlbertConfig.from_preset("albert_huge")


def test_from_dict_refuses_unknown_and_missing_keys():
    values = make_config().to_dict()
    with pytest.raises(ValueError, match="must have the fields of .* 'width'"):
        AlbertConfig.from_dict({**values, "width": 3, "n_layer": 2})
    del values["num_heads"], values["hidden_dim"]
    with pytest.raises(ValueError, match="missing 2 .* 'num_heads' and 'hidden_dim'"):
        AlbertConfig.from_dict(values)
