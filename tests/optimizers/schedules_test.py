"""The schedule at the steps where implementations differ."""

import json

import keras
import numpy as np
import pytest

from albert_keras.optimizers import AdamW, Lamb, Muon, WarmupPolynomialDecay


def test_values_equal_the_original():
    schedule = WarmupPolynomialDecay(0.00176, decay_steps=125000, warmup_steps=3125)
    expected = {
        0: 0.0,
        1: 0.00176 / 3125,
        3124: 0.00176 * 3124 / 3125,
        3125: 0.00176 * 0.975,
        62500: 0.00088,
        124999: 0.00176 / 125000,
        125000: 0.0,
        130000: 0.0,
    }
    for step, rate in expected.items():
        assert np.isclose(float(schedule(step)), rate, rtol=1e-5, atol=1e-12), step


def test_power_end_and_no_warmup():
    schedule = WarmupPolynomialDecay(1.0, 11, 3, end_learning_rate=0.25, power=2.0)
    assert np.isclose(float(schedule(7)), 0.25 + 0.75 * (4 / 11) ** 2)
    assert np.isclose(float(schedule(11)), 0.25)
    assert float(WarmupPolynomialDecay(0.5, 7, 0)(0)) == 0.5


def test_steps_out_of_order_are_an_error():
    with pytest.raises(ValueError, match="warmup_steps=13, decay_steps=13"):
        WarmupPolynomialDecay(1.0, 13, 13)


@pytest.mark.parametrize(
    ("optimizer", "options"),
    [
        (Lamb, {"bias_correction": True, "exclude_from_layer_adaptation": ["bias"]}),
        (AdamW, {"rate_factors": {"^embedding/": 0.25, "pooler": 1.0}}),
        (Muon, {"momentum": 0.9}),
    ],
)
def test_optimizers_come_back_from_json(optimizer, options):
    common = {"weight_decay": 0.02, "global_clipnorm": 1.5}
    optimizer = optimizer(0.003, **common, **options)
    config = json.loads(json.dumps(keras.optimizers.serialize(optimizer)))
    restored = keras.optimizers.deserialize(config).get_config()
    assert restored == optimizer.get_config()
    assert restored == restored | common | options
