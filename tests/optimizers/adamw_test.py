"""AdamW: exclusions from the decay, rates by layer, and golden steps."""

import keras
import numpy as np

from albert_keras.models import AlbertBackbone
from albert_keras.optimizers import AdamW, WarmupPolynomialDecay

FACTORS = {"^embedding/": 0.25, "^layer_1_": 0.5, "layer_1": 64.0, "^frozen/": 0.0}
# Factors of the first pattern that matches.
PATHS = {
    "embedding/kernel": 0.25,
    "layer_1_ffn/kernel": 0.5,
    "layer_1_ffn/bias": 0.5,
    "layer_11_ffn/kernel": 64.0,
    "frozen/kernel": 0.0,
    "head/kernel": 1.0,
    "head/embedding/kernel": 1.0,
}


def make_variables():
    """Returns a variable for each path, of sizes 2, 3, ..."""
    draw = np.random.default_rng(5)
    variables = []
    for size, path in enumerate(PATHS, start=2):
        *layers, name = path.split("/")
        with keras.name_scope(layers[0]):
            if layers[1:]:
                with keras.name_scope(layers[1]):
                    variable = keras.Variable(draw.normal(size=size), name=name)
            else:
                variable = keras.Variable(draw.normal(size=size), name=name)
        variables.append(variable)
    assert [variable.path for variable in variables] == [*PATHS]
    return variables


def plain_adamw(value, gradients, rates, weight_decay):
    """Computes steps of AdamW in float64 (Loshchilov and Hutter 2019)."""
    value, first, second = np.float64(value), 0.0, 0.0
    for step, (gradient, rate) in enumerate(
        zip(gradients, rates, strict=True), start=1
    ):
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        update = (first / (1 - 0.9**step)) / np.sqrt(second / (1 - 0.999**step))
        value = value - rate * (update + weight_decay * value)
    return value


def test_each_variable_takes_the_steps_of_adamw_at_its_rate():
    variables = make_variables()
    before = [keras.ops.convert_to_numpy(variable) for variable in variables]
    draw = np.random.default_rng(7)
    gradients = [draw.normal(size=(3, len(value))) for value in before]
    schedule = WarmupPolynomialDecay(0.004, decay_steps=8, warmup_steps=2)
    optimizer = AdamW(schedule, weight_decay=0.5, epsilon=0.0, rate_factors=FACTORS)
    for step in range(3):
        optimizer.apply([keras.ops.array(g[step]) for g in gradients], variables)
    # Of the warm-up, its middle, and after two of eight steps.
    rates = np.array([0.0, 0.002, 0.003])
    for (path, factor), variable, value, gradient in zip(
        PATHS.items(), variables, before, gradients, strict=True
    ):
        weight_decay = 0.0 if "bias" in path else 0.5
        expected = plain_adamw(value, gradient, factor * rates, weight_decay)
        received = keras.ops.convert_to_numpy(variable)
        assert np.allclose(received, expected, rtol=2e-5, atol=1e-6), path


def test_biases_and_normalizations_do_not_decay():
    backbone = AlbertBackbone.from_config_preset("albert_test")
    for variable in backbone.weights:
        variable.assign(keras.ops.ones_like(variable))
    optimizer = AdamW(0.5, weight_decay=0.25)
    variables = backbone.trainable_variables
    optimizer.apply([keras.ops.zeros_like(v) for v in variables], variables)
    decayed = [v for v in variables if v.path.endswith(("kernel", "embeddings"))]
    assert (len(decayed), len(variables)) == (11, 25)
    for variable in variables:
        expected = 1.0 - 0.5 * 0.25 * any(variable is each for each in decayed)
        value = keras.ops.convert_to_numpy(variable)
        assert np.allclose(value, expected), variable.path
