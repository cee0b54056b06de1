"""Trains the same steps on a batch divided in many ways, in a process of its own.

Prints a line of JSON: for each division of the batch, the largest difference of the
weights and of the logs from those of one device and one part, in the same float type and
with the same optimizer.
"""

import functools
import json

import keras
import numpy as np
import tensorflow as tf

from albert_keras.layers.seeds import Dropout
from albert_keras.models import AlbertBackbone
from albert_keras.models.embedding_losses import ContrastiveLoss
from albert_keras.optimizers import AdamW, Lamb, WarmupPolynomialDecay
from albert_keras.pretraining import PretrainingTask
from albert_keras.train_step import ExactTrainStep, infer

NUM_STEPS, LAST, LENGTH, PREDICTIONS = 5, 7, 13, 4
# JAX compiles a step for each size of a batch; there all have that of the last.
BATCH = LAST if keras.config.backend() == "jax" else 12
NUM_ROWS = (NUM_STEPS - 1) * BATCH + LAST
TASK = PretrainingTask()


def uneven_batches():
    """Returns batches whose second halves have few masked tokens; the last is short."""
    draw = np.random.default_rng(5)
    rows, targets = NUM_ROWS, (NUM_ROWS, PREDICTIONS)
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


def make_optimizer(name):
    """Returns LAMB, AdamW with a learning rate for each layer, or SGD."""
    if name == "sgd":
        return keras.optimizers.SGD(0.1)
    rate = WarmupPolynomialDecay(0.02, 17, 1)
    if name == "lamb":
        return Lamb(rate, global_clipnorm=0.1)
    factors = {"^embedding/": 0.25, "attention": 0.5}
    return AdamW(rate, rate_factors=factors, global_clipnorm=0.1)


@functools.cache
def mirrored():
    """Returns the strategy of all devices; a second one would clash with it."""
    devices = tf.config.list_logical_devices("CPU")
    return tf.distribute.MirroredStrategy([device.name for device in devices])


def make_pretrainer(strategy=None, optimizer="lamb", fields=(), **options):
    """Returns a compiled model of one layer."""
    keras.utils.set_random_seed(3)
    with (strategy or tf.distribute.get_strategy()).scope():
        fields = {"num_layers": 1, **dict(fields)}
        backbone = AlbertBackbone.from_config_preset("albert_test", **fields)
        model = TASK.build_model(backbone)
        model.compile(
            make_optimizer(optimizer),
            TASK.losses(),
            loss_weights={"mlm_logits": 1.0, "sop_logits": 0.5},
            weighted_metrics=TASK.metrics(),
            **options,
        )
    return model


def train(model):
    """Returns the weights and the logs after five steps through `fit`."""
    history = keras.Model.fit(model, uneven_batches(), shuffle=False, verbose=0)
    logs = {name: values[-1] for name, values in history.history.items()}
    return model.get_weights(), logs


def max_difference(weights, others):
    pairs = zip(weights, others, strict=True)
    # The maximum of NumPy, unlike that of Python, is NaN if a value is.
    return float(np.max([np.abs(a - b).max() for a, b in pairs]))


def compare_ways(ways, **options):
    """Returns differences of weights and logs from those of an undivided batch.

    Args:
        ways: Dict of the arguments of `make_pretrainer` by name of the division.
        **options: Arguments for all of them.
    """
    model = make_pretrainer(**options)
    start = model.get_weights()
    weights, logs = train(model)
    assert max_difference(start, weights) > 0.01
    rows = {}
    for name, way in ways.items():
        other_weights, other_logs = train(make_pretrainer(**options, **way))
        assert set(logs) == set(other_logs)
        rows[name] = {
            "weights": max_difference(weights, other_weights),
            "logs": float(max(abs(logs[key] - other_logs[key]) for key in logs)),
        }
    return rows


def compare_dropout():
    """Counts replicas with equal dropout, and runs from one state that differ."""
    model = make_embedder(mirrored(), dropout=0.5, micro_batches=2)
    with mirrored().scope():
        layer = Dropout(0.5, seed=3)
        model.optimizer.build(model.trainable_variables)

    def drop():
        return layer(tf.ones((7, 31)), training=True)

    dropped = tf.function(mirrored().run, autograph=False)(drop)
    one, other = mirrored().experimental_local_results(dropped)
    # They include the state of the seeds.
    variables = [*model.variables, *model.optimizer.variables]
    start = [np.array(variable) for variable in variables]
    first, _ = train_embedder(model)
    for variable, value in zip(variables, start, strict=True):
        variable.assign(value)
    second, _ = train_embedder(model)
    return {
        "replicas that drop the same": int(np.array_equal(one, other)),
        "runs that differ": int(max_difference(first, second) > 0),
    }


def compare_inference():
    """Returns the difference of the outputs of two replicas from those of one."""
    features, *_ = next(uneven_batches().as_numpy_iterator())
    models = make_pretrainer(), make_pretrainer(mirrored())
    return max_difference(*(infer(m, features).values() for m in models))


def compare_whole_batches(ways):
    """Returns differences as `compare_ways`, of a loss that compares rows."""
    weights, loss = train_embedder(make_embedder())
    # The bias, which begins at 0.
    assert np.abs(weights[1]).max() > 0.01
    rows = {}
    for name, way in ways.items():
        other_weights, other_loss = train_embedder(make_embedder(**way))
        difference = max_difference(weights, other_weights)
        rows[name] = {"weights": difference, "logs": abs(loss - other_loss)}
    return rows


class Embedder(ExactTrainStep, keras.Model):
    """Vectors of several texts of a row."""


def make_embedder(strategy=None, dropout=0.0, **options):
    """Returns a compiled `Embedder`."""
    keras.utils.set_random_seed(3)
    with (strategy or tf.distribute.get_strategy()).scope():
        texts = keras.Input((3, 5))
        vectors = keras.layers.Dense(11)(Dropout(dropout)(texts))
        model = Embedder(texts, vectors)
        model.compile(keras.optimizers.SGD(0.05), ContrastiveLoss(4), **options)
    return model


def train_embedder(model):
    """Returns the weights and the loss after some steps."""
    draw = np.random.default_rng(5)
    rows = draw.normal(size=(NUM_ROWS, 3, 5)).astype("float32")
    numbers = draw.integers(0, 20, (NUM_ROWS, 3), "int32")
    data = tf.data.Dataset.from_tensor_slices((rows, numbers)).batch(BATCH)
    logs = model.fit(data, shuffle=False, verbose=0).history
    logs |= model.evaluate(data, verbose=0, return_dict=True)
    return model.get_weights(), float(np.ravel(logs["loss"])[-1])


def use_float64():
    keras.config.set_floatx("float64")
    keras.config.set_dtype_policy("float64")


def compare_on_two_devices():
    """Compares LAMB in float32, and in float64 AdamW with rates of their own.

    Graphs are not optimized: for several replicas that takes as long as all tracing.
    """
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    both = {"strategy": mirrored(), "micro_batches": 2}
    results = {
        "float32": compare_ways({"2 replicas, 2 micro-batches": both}),
        "dropout": compare_dropout(),
        "inference": compare_inference(),
        "whole batches": compare_whole_batches(
            {
                "4 micro-batches, XLA": {"micro_batches": 4, "jit_compile": True},
                "2 replicas, 2 micro-batches": both,
            }
        ),
    }
    use_float64()
    several = {
        "strategy": mirrored(),
        "micro_batches": 3,
        "steps_per_execution": 5,
        "fields": {"rematerialization": True},
        "jit_compile": True,
    }
    ways = {"2 replicas, 3 micro-batches, 5 steps a call, rematerialized, XLA": several}
    results["float64"] = compare_ways(ways, optimizer="adamw")
    print(json.dumps(results))


def compare_on_jax():
    ways = {"2 micro-batches": {"micro_batches": 2}}
    results = {
        "float32": compare_ways(ways),
        "whole batches": compare_whole_batches(ways),
    }
    print(json.dumps(results))
