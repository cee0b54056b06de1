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
    model.get_layer("dense").enable_lora(2)
    with pytest.raises(
        ValueError, match="lora_kernel_b. Call the model's `merge_lora`"
    ):
        collect_tensors(model.weights, ROWS)


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
