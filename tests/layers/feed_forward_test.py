"""Feed-forward sub-layer: activations, normalization, dropout."""

import keras
import numpy as np
import pytest

from albert_keras.layers import FeedForward
from albert_keras.layers.activations import ACTIVATION_FUNCTIONS
from tests.helpers import make_config, max_difference, run_layer_test

HIDDEN = np.random.default_rng(3).normal(size=(5, 13, 28)).astype("float32")


@pytest.mark.parametrize("activation", ACTIVATION_FUNCTIONS)
def test_feed_forward_gives_one_result_however_used(activation, tmp_path):
    config = make_config(activation=activation)
    run_layer_test(
        lambda **dtype: FeedForward(config, **dtype),
        {"x": HIDDEN},
        (5, 13, 28),
        tmp_path,
    )


def test_normalization_comes_last():
    output = np.array(FeedForward(make_config())(HIDDEN))
    assert np.abs(output.mean(-1)).max() < 1e-6
    assert np.abs(output.var(-1) - 1.0).max() < 1e-4


def test_epsilon_lets_small_variances_through():
    layer = FeedForward(make_config(initializer_range=1e-9))
    # A variance of 1e-8 would become 1e-3 under an epsilon of 1e-5.
    output = np.array(layer(HIDDEN * 1e-4))
    assert np.abs(output.var(-1) - 1.0).max() < 1e-3


def test_feed_forward_has_hidden_dropout_only():
    seeds = [keras.ops.array([3, 5], "uint32")]

    def change(**rates):
        layer = FeedForward(make_config(**rates))
        return max_difference(layer(HIDDEN, seeds=seeds), layer(HIDDEN))

    assert change(dropout=0.3, attention_dropout=0.0) > 1e-3
    assert change(dropout=0.0, attention_dropout=0.3) == 0.0
