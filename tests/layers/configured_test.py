"""What a layer takes from its config."""

import json

import keras
import numpy as np
import pytest

from albert_keras.layers.configured import ConfiguredLayer, truncated_normal
from tests.helpers import make_config


def test_dense_has_the_initializer_and_dtype_of_its_layer():
    config = make_config(initializer_range=0.014)
    dense = ConfiguredLayer(config, dtype="mixed_bfloat16").dense(300, "wide")
    dense.build((None, 400))
    kernel = keras.ops.convert_to_numpy(dense.kernel)
    # A normal cut at two standard deviations has 0.8796 of its deviation left.
    assert kernel.std() == pytest.approx(0.014 * 0.8796, rel=0.02)
    assert np.abs(kernel).max() <= 0.028
    assert not keras.ops.convert_to_numpy(dense.bias).any()
    assert dense.name == "wide"
    assert dense.compute_dtype == "bfloat16"


def test_layer_norm_has_the_epsilon_of_the_config():
    layer = ConfiguredLayer(make_config(layer_norm_epsilon=1e-5), dtype="mixed_float16")
    assert layer.layer_norm().epsilon == 1e-5
    assert layer.layer_norm().compute_dtype == "float16"
    assert layer.layer_norm("other").name == "other"


def test_config_is_saved_as_a_dict_and_taken_back():
    layer = ConfiguredLayer(make_config(sharing="ffn"), name="brick")
    config = json.loads(json.dumps(layer.get_config()))
    restored = ConfiguredLayer.from_config(config)
    assert restored.albert_config == make_config(sharing="ffn")
    assert restored.name == "brick"


def test_unknown_key_in_a_saved_config_is_refused():
    with pytest.raises(ValueError, match="Received: depth"):
        ConfiguredLayer({**make_config().to_dict(), "depth": 3})


def test_initializer_draws_a_truncated_normal_of_the_configured_deviation():
    initializer = truncated_normal(make_config(initializer_range=0.01))
    table = keras.ops.convert_to_numpy(initializer((300, 400)))
    assert table.std() == pytest.approx(0.01 * 0.8796, rel=0.02)
    assert np.abs(table).max() <= 0.02
