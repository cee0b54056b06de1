"""Trains the same steps on a batch divided in many ways, in a process of its own.

    KERAS_BACKEND=tensorflow python cut_batches.py NUM_DEVICES DTYPE

Logical devices can only be made before TensorFlow starts, and their number and the float
type are those of a process. Prints a line of JSON: for each division of the batch, the
largest difference of the weights and of the logs from those of one device and one part.
The optimizer is LAMB, on four devices AdamW with a learning rate for each layer.
"""

import json
import sys

import keras
import numpy as np
import tensorflow as tf

from albert_keras.layers.seeds import Dropout
from albert_keras.models import AlbertBackbone, AlbertPretrainer
from albert_keras.optimizers import AdamW, Lamb, WarmupPolynomialDecay

NUM_STEPS, BATCH, LAST, LENGTH, PREDICTIONS = 5, 12, 7, 13, 4
NAMES = ("mlm_logits", "sop_logits")


def uneven_batches():
    """Returns batches whose second halves have few masked tokens; the last is short."""
    draw = np.random.default_rng(5)
    rows = (NUM_STEPS - 1) * BATCH + LAST
    targets = (rows, PREDICTIONS)
    weights = (draw.random(targets) < 0.6).astype("float64")
    weights[np.arange(rows) % BATCH >= BATCH // 2, 1:] = 0.0
    features = {
        "token_ids": draw.integers(5, 61, (rows, LENGTH), "int32"),
        "segment_ids": draw.integers(0, 2, (rows, LENGTH), "int32"),
        "padding_mask": np.ones((rows, LENGTH), "int32"),
        "mask_positions": draw.integers(1, LENGTH, targets, "int32"),
    }
    labels = {
        "mlm_logits": draw.integers(5, 61, targets, "int32"),
        "sop_logits": draw.integers(0, 2, rows, "int32"),
    }
    weights = {"mlm_logits": weights, "sop_logits": np.ones(rows, "float64")}
    data = tf.data.Dataset.from_tensor_slices((features, labels, weights))
    return data.batch(BATCH)


def train(strategy=None, fields=(), **options):
    """Returns the weights and the logs after five steps through `fit`."""
    keras.utils.set_random_seed(3)
    with (strategy or tf.distribute.get_strategy()).scope():
        backbone = AlbertBackbone.from_config_preset("albert_test", **dict(fields))
        model = AlbertPretrainer(backbone)
        rate = WarmupPolynomialDecay(0.02, 17, 1)
        if len(tf.config.list_logical_devices("CPU")) == 4:
            factors = {"^embedding/": 0.25, "attention": 0.5}
            optimizer = AdamW(rate, rate_factors=factors, global_clipnorm=0.1)
        else:
            optimizer = Lamb(rate, global_clipnorm=0.1)
        model.compile(
            optimizer,
            weighted_metrics={
                name: [keras.metrics.SparseCategoricalAccuracy("accuracy")]
                for name in NAMES
            },
            **options,
        )
    history = keras.Model.fit(model, uneven_batches(), shuffle=False, verbose=0)
    logs = {name: values[-1] for name, values in history.history.items()}
    return model.get_weights(), logs


def max_difference(weights, others):
    pairs = zip(weights, others, strict=True)
    # The maximum of NumPy, unlike that of Python, is NaN if a value is.
    return float(np.max([np.abs(a - b).max() for a, b in pairs]))


def ways_to_cut(num_devices, dtype):
    """Yields the name and the arguments of each division of a batch."""
    if num_devices < 4:
        for micro_batches in (2, 4):
            yield f"{micro_batches} micro-batches", {"micro_batches": micro_batches}
    if num_devices == 1:
        return
    mirrored = tf.distribute.MirroredStrategy(
        [device.name for device in tf.config.list_logical_devices("CPU")]
    )
    yield f"{num_devices} replicas", {"strategy": mirrored}
    if (num_devices, dtype) == (2, "float64"):
        several = {"steps_per_execution": 5, "jit_compile": True, "micro_batches": 3}
        yield (
            "2 replicas, 3 micro-batches, 5 steps a call, rematerialized, XLA",
            {"strategy": mirrored, "fields": {"rematerialization": True}, **several},
        )


def compare_ways(num_devices, dtype):
    """Returns differences of weights and logs from those of an undivided batch."""
    weights, logs = train()
    start = AlbertPretrainer(AlbertBackbone.from_config_preset("albert_test"))
    assert max_difference(start.get_weights(), weights) > 0.01
    rows = {}
    for name, way in ways_to_cut(num_devices, dtype):
        other_weights, other_logs = train(**way)
        assert set(logs) == set(other_logs)
        rows[name] = {
            "weights": max_difference(weights, other_weights),
            "logs": float(max(abs(logs[key] - other_logs[key]) for key in logs)),
        }
    return rows


def compare_dropout():
    """Counts replicas with equal dropout, and runs of one seed that differ."""
    strategy = tf.distribute.MirroredStrategy(
        [device.name for device in tf.config.list_logical_devices("CPU")]
    )
    with strategy.scope():
        layer = Dropout(0.5, seed=3)

    def drop():
        return layer(tf.ones((7, 31)), training=True)

    dropped = tf.function(strategy.run, autograph=False)(drop)
    one, other = strategy.experimental_local_results(dropped)
    options = {"fields": {"dropout": 0.2}, "micro_batches": 2}
    first, second = (train(strategy, **options)[0] for _ in range(2))
    return {
        "replicas that drop the same": int(np.array_equal(one, other)),
        "runs that differ": int(max_difference(first, second) > 0),
    }


def compare_filled():
    """Returns losses with a short last batch, and with it filled by rows of weight 0."""
    rows = uneven_batches().unbatch()
    fillers = rows.take(BATCH - LAST).map(
        lambda x, y, weights: (x, y, tf.nest.map_structure(tf.zeros_like, weights))
    )
    keras.utils.set_random_seed(3)
    model = AlbertPretrainer(AlbertBackbone.from_config_preset("albert_test"))
    model.compile()
    smaller, filled = (
        keras.Model.evaluate(model, data.batch(BATCH), verbose=0)[0]
        for data in (rows, rows.concatenate(fillers))
    )
    return {"smaller": smaller, "filled": filled}


def main(num_devices, dtype):
    cpu = tf.config.list_physical_devices("CPU")[0]
    devices = [tf.config.LogicalDeviceConfiguration()] * num_devices
    tf.config.set_logical_device_configuration(cpu, devices)
    keras.config.set_floatx(dtype)
    keras.config.set_dtype_policy(dtype)
    results = compare_ways(num_devices, dtype)
    if (num_devices, dtype) == (2, "float32"):
        results["dropout"] = compare_dropout()
    if keras.config.backend() == "jax":
        results["losses"] = compare_filled()
    print(json.dumps(results))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
