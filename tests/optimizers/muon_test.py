"""Muon: which variables take its steps, golden steps, and the exclusions from decay."""

import keras
import numpy as np
import pytest

from albert_keras.models import (
    AlbertBackbone,
    AlbertJointQuestionAnswerer,
    AlbertPretrainer,
    AlbertTextClassifier,
)
from albert_keras.optimizers import AdamW, Muon, WarmupPolynomialDecay

# Of a model with one shared layer; each other variable takes Adam's steps.
KERNELS = [
    "attention/query/kernel",
    "attention/key/kernel",
    "attention/value/kernel",
    "attention/projection/kernel",
    "feed_forward/intermediate/kernel",
    "feed_forward/projection/kernel",
    "pooler/kernel",
]


def make_model(head=AlbertPretrainer, **options):
    return head(AlbertBackbone.from_config_preset("albert_test"), **options)


def plain_muon(value, gradients, rates, weight_decay):
    """Computes steps of Muon in float64 (Jordan et al. 2024; Liu et al. 2025)."""
    value, momentum = np.float64(value), 0.0
    for gradient, rate in zip(gradients, rates, strict=True):
        momentum = 0.95 * momentum + gradient
        update = gradient + 0.95 * momentum
        update /= np.linalg.norm(update)
        for _ in range(5):
            square = update @ update.T
            polynomial = -4.775 * square + 2.0315 * square @ square
            update = 3.4445 * update + polynomial @ update
        scale = 0.2 * np.sqrt(max(value.shape))
        value = value * (1 - rate * weight_decay) - rate * scale * update
    return value


@pytest.mark.parametrize(
    ("head", "options", "kernels"),
    [
        (AlbertPretrainer, {}, [*KERNELS, "mlm/transform/kernel"]),
        (AlbertTextClassifier, {"num_classes": 3}, KERNELS),
        (AlbertJointQuestionAnswerer, {}, KERNELS[:-1]),
    ],
)
def test_hidden_kernels_take_orthogonal_steps(head, options, kernels):
    variables = make_model(head, **options).trainable_variables
    before = [keras.ops.convert_to_numpy(variable) for variable in variables]
    # Of a condition number of 3, so that five iterations suffice.
    orthogonal = keras.initializers.Orthogonal(seed=3)
    gradients = [
        orthogonal(v.shape) * keras.ops.linspace(1.0, 3.0, v.shape[-1])
        if len(v.shape) == 2
        else keras.ops.ones(v.shape)
        for v in variables
    ]
    Muon(0.5, weight_decay=0.0).apply(gradients, variables)
    found = []
    for variable, value in zip(variables, before, strict=True):
        step = (value - keras.ops.convert_to_numpy(variable)) / 0.5
        if step.ndim == 2:
            singular = np.linalg.svd(step / np.sqrt(max(step.shape)) / 0.2)[1]
            if 0.5 < singular.min() and singular.max() < 1.3:
                found.append(variable.path)
    assert len(found) == len(kernels)
    for path, kernel in zip(found, kernels, strict=True):
        assert path.endswith(kernel)


def test_a_kernel_takes_the_steps_of_muon_and_a_bias_those_of_adamw():
    draw = np.random.default_rng(7)
    schedule = WarmupPolynomialDecay(0.004, decay_steps=8, warmup_steps=2)
    for shape in (3, 5), (7, 2):
        with keras.name_scope("dense"):
            kernel = keras.Variable("normal", shape, name="kernel")
            biases = [keras.Variable("ones", (4,), name="bias") for _ in range(2)]
        value = keras.ops.convert_to_numpy(kernel)
        optimizer, adamw = Muon(schedule, weight_decay=0.5), AdamW(schedule)
        gradients = draw.normal(size=(3, *shape))
        for step, gradient in enumerate(gradients):
            small = keras.ops.array([0.5, -1.0, step, 2.0], "float32")
            large = keras.ops.array(gradient, "float32")
            optimizer.apply([large, small], [kernel, biases[0]])
            adamw.apply([small], [biases[1]])
        # Of the warm-up, its middle, and after two of eight steps.
        expected = plain_muon(value, gradients, [0.0, 0.002, 0.003], 0.5)
        assert np.allclose(keras.ops.convert_to_numpy(kernel), expected, atol=2e-6)
        assert np.allclose(*map(keras.ops.convert_to_numpy, biases), atol=1e-7)
