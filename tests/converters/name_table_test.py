"""Tables of names: variables, configs and heads of other libraries."""

import dataclasses

import keras
import numpy as np
import pytest

from albert_keras.converters.config_format import ConfigFormat
from albert_keras.converters.name_table import Row, collect_tensors, load_variables
from tests.helpers import make_config, stored_arrays

ROWS = [
    Row("dense/weight", "dense/kernel", transposed=True),
    Row("dense/bias", "dense/bias"),
    Row("norm/scale", "layer_norm/gamma"),
    Row("norm/shift", "layer_norm/beta"),
    Row("other_head/bias", "logits/bias"),
]


@pytest.fixture
def model():
    inputs = keras.Input((5,))
    x = keras.layers.Dense(3, name="dense")(inputs)
    return keras.Model(inputs, keras.layers.LayerNormalization(name="layer_norm")(x))


@pytest.fixture
def tensors():
    random = np.random.default_rng(3)
    return {
        "dense/weight": random.normal(size=(3, 5)),
        "dense/bias": random.normal(size=3),
        "norm/scale": random.normal(size=3),
        "norm/shift": random.normal(size=3),
    }


def load(model, tensors, **options):
    return load_variables(model, stored_arrays(tensors), ROWS, **options)


def test_all_problems_are_listed_and_nothing_is_loaded(model, tensors):
    before = model.get_weights()
    del tensors["norm/scale"], tensors["dense/bias"]
    tensors["dense/weight"] = tensors["dense/weight"].T
    tensors["norm/shift"] = np.zeros(7)
    tensors["extra/one"] = np.zeros((2, 4))
    tensors["extra/two"] = np.float32(1.0)
    with pytest.raises(ValueError, match="nothing was loaded") as error:
        load(model, tensors)
    header, *lines = str(error.value).split("\n  ")
    assert header.endswith("Received 6 problems:")
    assert lines == [
        "missing: dense/bias",
        "missing: layer_norm/gamma",
        "unexpected: extra/one (2, 4)",
        "unexpected: extra/two ()",
        "mis-shaped: dense/weight gives (3, 5), dense/kernel expects (5, 3)",
        "mis-shaped: norm/shift gives (7,), layer_norm/beta expects (3,)",
    ]
    for old, new in zip(before, model.get_weights(), strict=True):
        assert (old == new).all()


def test_known_names_of_other_heads_are_skipped(model, tensors):
    tensors["other_head/bias"] = np.zeros(7)
    assert load(model, tensors, unused=["other_head/bias"]) == []
    with pytest.raises(ValueError, match=r"unexpected: other_head/bias \(7,\)"):
        load(model, tensors)


def test_optional_variables_are_kept(model, tensors):
    before = model.get_weights()
    del tensors["norm/shift"]
    kept = load(model, tensors, optional=["layer_norm/beta", "dense/bias"])
    assert kept == ["layer_norm/beta"]
    assert (before[3] == model.get_weights()[3]).all()


def test_collected_tensors_have_the_source_names(model, tensors):
    load(model, tensors)
    collected = collect_tensors(model.weights, ROWS)
    assert collected.keys() == tensors.keys()
    for name, value in tensors.items():
        assert (collected[name] == value.astype("float32")).all()
    with pytest.raises(ValueError, match="Received: layer_norm/gamma, layer_norm/beta"):
        collect_tensors(model.weights, ROWS[:2])
    model.get_layer("dense").enable_lora(2)
    with pytest.raises(
        ValueError, match="lora_kernel_b. If LoRA .*call the model's .merge_lora"
    ):
        collect_tensors(model.weights, ROWS)


# === Configs of other libraries, read and written as ours ===


FORMAT = ConfigFormat(
    "Google",
    names={
        **{"vocab_size": "vocabulary_size", "num_hidden_layers": "num_layers"},
        **{"num_heads": "num_heads", "embedding_size": "embedding_dim"},
        **{"hidden_size": "hidden_dim", "intermediate_size": "intermediate_dim"},
        **{"attention_rate": "attention_dropout", "hidden_act": "activation"},
    },
    activations={"ReLU": "relu", "relu": "relu", "gelu": "gelu_tanh"},
    activation="gelu",
)
STATED = {
    **{"vocab_size": 61, "num_hidden_layers": 3, "num_heads": 4, "embedding_size": 9},
    **{"hidden_size": 28, "intermediate_size": 40},
}


def test_keys_are_translated_and_unknown_ones_ignored():
    config = FORMAT.read({**STATED, "gap_size": 0, "experts": 8})
    sizes = make_config(max_sequence_length=512)
    assert config == dataclasses.replace(sizes, attention_dropout=0.0)
    assert FORMAT.read({**STATED, "attention_rate": 0.1}).attention_dropout == 0.1


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
