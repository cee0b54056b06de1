"""AdamW decays kernels and tables only."""

import keras
import numpy as np
import pytest

from albert_keras.models import AlbertBackbone
from albert_keras.optimizers import AdamW


@pytest.mark.parametrize("decayed", [True, False])
def test_decay_spares_biases_and_normalizations(decayed):
    backbone = AlbertBackbone.from_config_preset("albert_test")
    for variable in backbone.weights:
        variable.assign(keras.ops.ones_like(variable))
    optimizer = AdamW(0.5, weight_decay=0.25)
    variables = backbone.trainable_variables
    optimizer.apply([keras.ops.zeros_like(v) for v in variables], variables)
    chosen = [
        v for v in variables if v.path.endswith(("kernel", "embeddings")) == decayed
    ]
    assert len(chosen) == {True: 11, False: 14}[decayed]
    expected = 1.0 - 0.5 * 0.25 if decayed else 1.0
    for variable in chosen:
        assert np.allclose(keras.ops.convert_to_numpy(variable), expected), (
            variable.path
        )


def test_config_round_trip():
    optimizer = AdamW(0.003, weight_decay=0.02, global_clipnorm=1.5)
    config = keras.optimizers.serialize(optimizer)
    assert keras.optimizers.deserialize(config).get_config() == optimizer.get_config()
