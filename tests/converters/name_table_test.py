"""Strict copying of variables by a table of names."""

import keras
import numpy as np
import pytest

from albert_keras.converters.name_table import (
    Row,
    assign_variables,
    collect_tensors,
    compare_variables,
    expand_rows,
    foreign_config,
    translate_activation,
    translate_config,
)
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
    tensors = stored_arrays(tensors)
    entries = compare_variables(model, tensors, ROWS, **options)
    assign_variables(model, tensors, entries)
    return entries


def test_every_variable_gets_its_tensor(model, tensors):
    load(model, tensors)
    kernel, bias, scale, shift = (np.array(v) for v in model.weights)
    assert np.allclose(kernel, tensors["dense/weight"].T)
    assert np.allclose(bias, tensors["dense/bias"])
    assert np.allclose(scale, tensors["norm/scale"])
    assert np.allclose(shift, tensors["norm/shift"])


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
    entries = load(model, tensors, skipped_names=["other_head/bias"])
    assert [e.source for e in entries if e.status == "unused"] == ["other_head/bias"]
    with pytest.raises(ValueError, match=r"unexpected: other_head/bias \(7,\)"):
        load(model, tensors)


def test_optional_variables_are_kept(model, tensors):
    before = model.get_weights()
    del tensors["norm/shift"]
    entries = load(model, tensors, optional_targets=["layer_norm/beta"])
    assert [e.target for e in entries if e.status == "kept"] == ["layer_norm/beta"]
    assert (before[3] == model.get_weights()[3]).all()


def test_values_that_are_not_finite_are_refused(model, tensors):
    # Infinite as what it is cast to.
    tensors["norm/scale"][[0, 2]] = np.nan, 1e300
    with pytest.raises(ValueError, match="norm/scale with 2 values that are NaN"):
        load(model, tensors)


def test_collected_tensors_have_the_source_names(model, tensors):
    load(model, tensors)
    collected = collect_tensors(model.weights, ROWS)
    assert collected.keys() == tensors.keys()
    for name, value in tensors.items():
        assert (collected[name] == value.astype("float32")).all()
    with pytest.raises(ValueError, match="Received: layer_norm/gamma, layer_norm/beta"):
        collect_tensors(model.weights, ROWS[:2])


def test_rows_are_repeated_for_groups_and_inner_repetitions():
    rows = [
        Row("table", "embedding/table"),
        Row("g{group}.i{inner}", "group_{group}/inner_{inner}", transposed=True),
    ]
    config = make_config(num_layers=5, num_groups=3, num_inner_repetitions=2)
    assert expand_rows(rows, config) == [
        Row("table", "embedding/table"),
        *[
            Row(f"g{group}.i{inner}", f"group_{group}/inner_{inner}", transposed=True)
            for group in range(3)
            for inner in range(2)
        ],
    ]


def test_groups_without_a_layer_have_no_variables():
    # As in brightmart's fast models: 12 groups on 4 layers.
    config = make_config(num_layers=4, num_groups=12)
    rows = expand_rows([Row("{group}", "{group}")], config)
    assert [row.source for row in rows] == ["0", "3", "6", "9"]


def test_config_keys_are_translated_and_unknown_ones_refused():
    names = {"hidden_size": "hidden_dim", "vocab_size": "vocabulary_size"}
    values = {"hidden_size": 28, "vocab_size": 61, "gap_size": 0}
    assert translate_config(values, names, ["gap_size"], source="Google") == {
        "hidden_dim": 28,
        "vocabulary_size": 61,
        "dropout": 0.0,
        "attention_dropout": 0.0,
    }
    values.update(rotary=True, experts=8)
    with pytest.raises(ValueError, match=r"Google config.*Received: experts, rotary\."):
        translate_config(values, names, ["gap_size"], source="Google")


def test_null_is_refused():
    names = {"hidden_size": "hidden_dim", "dropout_rate": "dropout"}
    values = {"hidden_size": None, "dropout_rate": None}
    with pytest.raises(ValueError, match="null for dropout_rate, hidden_size"):
        translate_config(values, names, [], source="Google")


@pytest.mark.parametrize("name", [["gelu"], {}, None, 3])
def test_activation_must_be_a_name(name):
    with pytest.raises(ValueError, match="activation must be one of gelu"):
        translate_activation(name, {"gelu": "gelu_tanh"}, source="Google")


def test_unknown_activation_is_refused():
    activations = {"gelu": "gelu_tanh"}
    assert translate_activation("gelu", activations, source="Google") == "gelu_tanh"
    with pytest.raises(ValueError, match="one of gelu. Received: hidden_act='tanh'"):
        translate_activation("tanh", activations, source="Google")


def test_config_is_written_under_foreign_keys():
    names = {"hidden_size": "hidden_dim", "attention_rate": "attention_dropout"}
    names["hidden_act"] = "activation"
    config = make_config(dropout=0.1, activation="relu")
    activations = {"ReLU": "relu"}
    assert foreign_config(config, names, activations, source="Ours") == {
        "hidden_size": 28,
        "attention_rate": 0.1,
        "hidden_act": "ReLU",
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sharing": "ffn"}, "sharing='all'. Received: sharing='ffn'. .*num_groups="),
        ({"layer_norm_epsilon": 1e-6}, "epsilon=1e-12. Received: .*=1e-06"),
        ({"activation": "gelu"}, "activation of relu. Received: activation='gelu'"),
    ],
)
def test_config_that_a_source_cannot_store_is_refused(change, message):
    config = make_config(**{"activation": "relu", **change})
    with pytest.raises(ValueError, match=f"Ours's models must have.*{message}"):
        foreign_config(config, {}, {"ReLU": "relu"}, source="Ours")
