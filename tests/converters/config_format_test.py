"""Configs of other libraries, read and written as ours."""

import dataclasses

import pytest

from albert_keras.converters.config_format import ConfigFormat
from tests.helpers import make_config

FORMAT = ConfigFormat(
    "Google",
    names={
        "vocab_size": "vocabulary_size",
        "num_hidden_layers": "num_layers",
        "num_heads": "num_heads",
        "embedding_size": "embedding_dim",
        "hidden_size": "hidden_dim",
        "intermediate_size": "intermediate_dim",
        "attention_rate": "attention_dropout",
        "hidden_act": "activation",
    },
    ignored=("gap_size",),
    activations={"ReLU": "relu", "relu": "relu", "gelu": "gelu_tanh"},
    activation="gelu",
)
STATED = {
    "vocab_size": 61,
    "num_hidden_layers": 3,
    "num_heads": 4,
    "embedding_size": 9,
    "hidden_size": 28,
    "intermediate_size": 40,
}


def test_keys_are_translated_and_unknown_ones_refused():
    config = FORMAT.read({**STATED, "gap_size": 0})
    sizes = make_config(max_sequence_length=512)
    assert config == dataclasses.replace(sizes, attention_dropout=0.0)
    assert FORMAT.read({**STATED, "attention_rate": 0.1}).attention_dropout == 0.1
    with pytest.raises(ValueError, match=r"Google config.*Received: experts, rotary\."):
        FORMAT.read({**STATED, "rotary": True, "experts": 8})


def test_null_is_refused():
    with pytest.raises(ValueError, match="null for attention_rate, hidden_size"):
        FORMAT.read({**STATED, "hidden_size": None, "attention_rate": None})


def test_activations_are_translated():
    assert FORMAT.read(STATED).activation == "gelu_tanh"
    assert FORMAT.read({**STATED, "hidden_act": "relu"}).activation == "relu"


@pytest.mark.parametrize("name", [["gelu"], {}, 3, "tanh"])
def test_unknown_activation_is_refused(name):
    with pytest.raises(
        ValueError, match="one of ReLU, relu, gelu. Received: hidden_act"
    ):
        FORMAT.read({**STATED, "hidden_act": name})


def test_config_is_written_under_foreign_keys():
    config = make_config(dropout=0.1, activation="relu")
    assert FORMAT.write(config) == {
        **STATED,
        "attention_rate": 0.1,
        "hidden_act": "ReLU",
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sharing": "ffn"}, "sharing='all'. Received: sharing='ffn'. .*num_groups="),
        ({"layer_norm_epsilon": 1e-6}, "epsilon=1e-12. Received: .*=1e-06"),
        (
            {"attention": "block"},
            "='full'. Received: attention='block'. .*same weights",
        ),
        ({"activation": "gelu"}, "activation of relu, gelu_tanh. Received: .*'gelu'"),
    ],
)
def test_config_that_a_source_cannot_store_is_refused(change, message):
    config = make_config(**{"activation": "relu", **change})
    with pytest.raises(ValueError, match=f"Google's models must have.*{message}"):
        FORMAT.write(config)
