"""The matrix products that a training step is measured by."""

import math

import numpy as np
import pytest

from albert_keras.models import AlbertBackbone, AlbertPretrainer
from tools.benchmarks.step_products import products_seconds, step_products


def make_work(**overrides):
    backbone = AlbertBackbone.from_config_preset("albert_test", **overrides)
    return backbone, {
        "config": backbone.albert_config.to_dict(),
        "batch_size": 5,
        "sequence_length": 13,
        "num_predictions": 4,
        "clock": "process_time",
    }


@pytest.mark.parametrize("num_inner_repetitions", [1, 3])
def test_every_kernel_of_the_model_is_counted(num_inner_repetitions):
    backbone, work = make_work(
        num_layers=7, num_inner_repetitions=num_inner_repetitions
    )
    model = AlbertPretrainer(backbone)
    sizes = {}
    for variable in model.trainable_variables:
        if variable.path.endswith("kernel") and "pooler" not in variable.path:
            room = "encoder" if "inner_" in variable.path else variable.path
            sizes[room] = sizes.get(room, 0) + math.prod(variable.shape)
    sizes.pop(next(path for path in sizes if path.startswith("sop")))
    masked_kernels = sum(size for path, size in sizes.items() if "mlm" in path)
    token_kernels = sum(
        size * (7 if path == "encoder" else 1)
        for path, size in sizes.items()
        if "mlm" not in path
    )
    vocabulary = math.prod(backbone.token_embedding.embeddings.shape)
    # A token's query meets 13 keys, and its weights 13 values, in each of the layers.
    attention = 2 * 13 * backbone.hidden_dim * 7 * num_inner_repetitions
    multiplications = 5 * 13 * (token_kernels + attention)
    multiplications += 5 * 4 * (masked_kernels + vocabulary)
    flops = sum(product.step_flops for product in step_products(work))
    assert flops == 3 * 2 * multiplications


def test_products_are_timed_with_those_of_both_gradients():
    _, work = make_work()
    shapes = set()

    def multiply(a, b, transpose_a=False, transpose_b=False):
        a = a.swapaxes(-1, -2) if transpose_a else a
        b = b.swapaxes(-1, -2) if transpose_b else b
        shapes.add((*a.shape, b.shape[-1]))
        return a @ b

    seconds = products_seconds(work, np.ones, multiply)
    assert len(seconds) == len(step_products(work))
    for num_matrices, rows, inner, columns, _ in step_products(work):
        head = () if num_matrices == 1 else (num_matrices,)
        for sizes in (
            (rows, inner, columns),
            (rows, columns, inner),
            (inner, rows, columns),
        ):
            assert (*head, *sizes) in shapes
