"""The strict loop that copies along a table of names."""

import keras
import numpy as np
import pytest

from albert_keras.converters.name_table import (
    Row,
    assign_variables,
    expand_rows,
    translate_activation,
    translate_config,
)
from tests.helpers import make_config

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


def test_every_variable_gets_its_tensor(model, tensors):
    assign_variables(model, tensors, ROWS)
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
        assign_variables(model, tensors, ROWS)
    header, *lines = str(error.value).split("\n  ")
    assert header.endswith("Received 6 problems:")
    assert lines == [
        "missing: dense/bias",
        "missing: layer_norm/gamma",
        "unexpected: extra/one (2, 4)",
        "unexpected: extra/two ()",
        "shape: dense/weight gives (3, 5), dense/kernel expects (5, 3)",
        "shape: norm/shift gives (7,), layer_norm/beta expects (3,)",
    ]
    for old, new in zip(before, model.get_weights(), strict=True):
        assert (old == new).all()


def test_names_that_are_known_and_not_wanted_are_skipped(model, tensors):
    tensors["other_head/bias"] = np.zeros(7)
    assign_variables(model, tensors, ROWS, skipped_names=["other_head/bias"])
    with pytest.raises(ValueError, match=r"unexpected: other_head/bias \(7,\)"):
        assign_variables(model, tensors, ROWS)


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


def test_unknown_activation_is_refused():
    activations = {"gelu": "gelu_tanh"}
    assert translate_activation("gelu", activations, source="Google") == "gelu_tanh"
    with pytest.raises(ValueError, match="one of gelu. Received: hidden_act='tanh'"):
        translate_activation("tanh", activations, source="Google")
