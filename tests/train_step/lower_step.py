"""Lowers a whole training step for TPU and GPU, in a process of its own, on JAX.

Prints a report on the lowered program as a line of JSON.
"""

import json

import jax
import keras
import numpy as np
import tensorflow as tf
from jax import export

from albert_keras.models import AlbertBackbone, AlbertPretrainer
from albert_keras.optimizers import Lamb, WarmupPolynomialDecay

PLATFORMS = ("tpu", "cuda", "cpu")
BATCH, LENGTH, PREDICTIONS, MICRO_BATCHES = 6, 13, 4, 2


def make_batch():
    draw = np.random.default_rng(5)
    targets = (BATCH, PREDICTIONS)
    features = {
        "token_ids": draw.integers(5, 61, (BATCH, LENGTH), "int32"),
        "segment_ids": draw.integers(0, 2, (BATCH, LENGTH), "int32"),
        "padding_mask": np.ones((BATCH, LENGTH), "int32"),
        "mask_positions": draw.integers(1, LENGTH, targets, "int32"),
    }
    labels = {
        "mlm_logits": draw.integers(5, 61, targets, "int32"),
        "sop_logits": draw.integers(0, 2, BATCH, "int32"),
    }
    weights = {
        "mlm_logits": draw.integers(0, 2, targets).astype("float32"),
        "sop_logits": np.ones(BATCH, "float32"),
    }
    return features, labels, weights


def make_model(data):
    """Returns a model whose step has bfloat16, recomputation and dropout."""
    keras.utils.set_random_seed(3)
    backbone = AlbertBackbone.from_config_preset(
        "albert_test",
        num_layers=1,
        dtype="mixed_bfloat16",
        dropout=0.1,
        rematerialization=True,
    )
    model = AlbertPretrainer(backbone)
    accuracy = keras.metrics.SparseCategoricalAccuracy
    model.compile(
        Lamb(WarmupPolynomialDecay(0.02, 17, 0), global_clipnorm=0.1),
        weighted_metrics={
            name: [accuracy("accuracy")] for name in ("mlm_logits", "sop_logits")
        },
        micro_batches=MICRO_BATCHES,
    )
    # This builds the optimizer and the metrics too.
    model.evaluate(tf.data.Dataset.from_tensors(data), verbose=0)
    return model


def state_of(model):
    """Returns the state of a step, in the order of Keras."""
    return tuple(
        [variable.value for variable in variables]
        for variables in (
            model.trainable_variables,
            model.non_trainable_variables,
            model.optimizer.variables,
            model.metrics_variables,
        )
    )


def largest_difference(found, expected):
    pairs = zip(keras.tree.flatten(found), keras.tree.flatten(expected), strict=True)
    return max(
        float(np.abs(np.asarray(a, "float64") - np.asarray(b, "float64")).max())
        for a, b in pairs
    )


def main():
    data = make_batch()
    model = make_model(data)
    state = state_of(model)
    step = jax.jit(model.train_step)
    lowered = export.export(step, platforms=PLATFORMS)(state, data)
    program = lowered.mlir_module()
    logs, new_state = step(state, data)
    called_logs, called_state = lowered.call(state, data)
    # The products of the encoder are those of tensors with a sequence axis.
    products = [
        line
        for line in program.splitlines()
        if "stablehlo.dot_general" in line and f"x{LENGTH}x" in line
    ]
    shapes = [aval.shape for aval in (*lowered.in_avals, *lowered.out_avals)]
    report = {
        "platforms": lowered.platforms,
        "num_state": len(keras.tree.flatten(state)),
        "num_outputs": len(lowered.out_avals) - len(logs),
        "static": all(type(size) is int for shape in shapes for size in shape),
        "dynamic_types": program.count("tensor<?") + program.count("x?x"),
        "num_products": len(products),
        "num_bfloat16_products": sum("bf16>" in line for line in products),
        "num_barriers": program.count("optimization_barrier"),
        "moved": largest_difference(new_state[0], state[0]),
        "difference": largest_difference(
            (called_logs, called_state), (logs, new_state)
        ),
    }
    print(json.dumps(report))
