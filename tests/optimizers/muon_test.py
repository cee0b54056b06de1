"""Muon: which variables take its steps, and the exclusions from decay."""

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


def test_a_bias_takes_the_steps_of_adamw():
    schedule = WarmupPolynomialDecay(0.004, decay_steps=8, warmup_steps=2)
    with keras.name_scope("dense"):
        biases = [keras.Variable("ones", (4,), name="bias") for _ in range(2)]
    muon, adamw = Muon(schedule, weight_decay=0.5), AdamW(schedule)
    for step in range(3):
        gradient = keras.ops.array([0.5, -1.0, step, 2.0], "float32")
        muon.apply([gradient], [biases[0]])
        adamw.apply([gradient], [biases[1]])
    assert np.allclose(*map(keras.ops.convert_to_numpy, biases), atol=1e-7)
