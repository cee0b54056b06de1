"""Layer-wise learning rates: a variable has the rate of its last layer."""

import keras
import numpy as np
import pytest

from albert_keras.models import AlbertBackbone, AlbertTextClassifier, layer_rate_factors
from albert_keras.optimizers import AdamW
from tests.helpers import make_config

DECAY, NUM_LAYERS = 0.5, 3


def expected_factors(model):
    """Returns the factor of each variable, found by the layers that it is part of."""
    backbone = model.backbone
    # What no layer and no embedding has is of the head: the pooler too.
    factors = {v.path: 1.0 for v in model.trainable_variables}
    for variable in backbone.embedding.trainable_variables:
        factors[variable.path] = DECAY ** (NUM_LAYERS + 1)
    num_inner = len(backbone.encoders) // NUM_LAYERS
    for depth, encoder in enumerate(backbone.encoders):
        # From the first one to the last: a shared one's last layer stays.
        for variable in encoder.trainable_variables:
            factors[variable.path] = DECAY ** (NUM_LAYERS - depth // num_inner)
    return factors


@pytest.mark.parametrize(
    ("sharing", "num_groups"),
    [("all", 2), ("attention", 2), ("none", 1)],
)
def test_every_variable_moves_by_the_rate_of_its_layer(sharing, num_groups):
    config = make_config(
        num_layers=NUM_LAYERS,
        num_groups=num_groups,
        num_inner_repetitions=2,
        sharing=sharing,
    )
    model = AlbertTextClassifier(AlbertBackbone(**config.to_dict()), num_classes=5)
    expected = expected_factors(model)
    variables = model.trainable_variables
    assert len(expected) == len(variables)
    before = [keras.ops.convert_to_numpy(variable).copy() for variable in variables]
    factors = layer_rate_factors(config, DECAY)
    optimizer = AdamW(1.0, weight_decay=0.0, rate_factors=factors)
    # Of gradients of 1 the first step of Adam is the rate.
    optimizer.apply([keras.ops.ones_like(v) for v in variables], variables)
    for variable, value in zip(variables, before, strict=True):
        moved = value - keras.ops.convert_to_numpy(variable)
        assert np.allclose(moved, expected[variable.path], rtol=1e-4), variable.path
    assert set(expected.values()) >= {1.0, DECAY, DECAY ** (NUM_LAYERS + 1)}


@pytest.mark.parametrize("decay", [0.0, -0.5, 1.25])
def test_decay_out_of_range(decay):
    with pytest.raises(ValueError, match=f"at most 1. Received: decay={decay}"):
        layer_rate_factors(make_config(), decay)
