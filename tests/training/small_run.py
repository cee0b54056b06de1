"""A run of the trainer on a model that compiles fast, on either backend."""

import json
import os
import pathlib
import signal
import warnings

import keras
import numpy as np
import tensorflow as tf

from albert_keras.optimizers import Lamb, WarmupPolynomialDecay
from albert_keras.train_step import ExactTrainStep
from albert_keras.training import Trainer, TrainerConfig, get_strategy
from albert_keras.training.checkpoints import named_arrays

BATCH, WIDTH, NUM_BATCHES = 6, 13, 11


@keras.saving.register_keras_serializable(package="tests")
class SmallModel(ExactTrainStep, keras.Model):
    """Embeddings, their mean, dropout, and a score."""


def make_model(dtype=None):
    keras.utils.set_random_seed(3)
    token_ids = keras.Input((WIDTH,), dtype="int32", name="token_ids")
    x = keras.layers.Embedding(61, 8, dtype=dtype)(token_ids)
    x = keras.layers.Dropout(0.25, dtype=dtype)(keras.ops.mean(x, axis=1))
    return SmallModel({"token_ids": token_ids}, keras.layers.Dense(2, dtype=dtype)(x))


def batches(seed, num_batches):
    draw = np.random.default_rng(seed)
    features = {"token_ids": draw.integers(0, 61, (num_batches, BATCH, WIDTH), "int32")}
    labels = draw.integers(0, 2, (num_batches, BATCH), "int32")
    return tf.data.Dataset.from_tensor_slices((features, labels))


def make_dataset(step):
    return batches(5, NUM_BATCHES).repeat().skip(step)


def make_trainer(folder, num_steps=8, strategy=None, rate=0.02, dtype=None, **config):
    options = {"steps_per_evaluation": 4, "steps_per_log": 3, **config}
    trainer = Trainer(folder, TrainerConfig(num_steps, **options), strategy)
    with trainer.strategy.scope():
        model = make_model(dtype)
        trainer.compile(
            model,
            Lamb(WarmupPolynomialDecay(rate, 17, warmup_steps=2), global_clipnorm=1.0),
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            [keras.metrics.SparseCategoricalAccuracy(name="accuracy")],
        )
    return trainer, model


def train(folder, make_dataset=make_dataset, **options):
    trainer, model = make_trainer(folder, **options)
    return model, trainer.fit(model, make_dataset, batches(7, 4))


def interrupted_by(event, at_step):
    """Returns a `make_dataset` in which something happens as a step's batch is read.

    It happens once: batches are read again after the first, from which a model is built.
    """
    waiting = [event]

    def make(step):
        def happen(number):
            if number == at_step and waiting:
                waiting.pop()()
            return number

        numbers = tf.data.Dataset.counter(step)
        numbers = numbers.map(
            lambda number: tf.py_function(happen, [number], tf.int64),
            num_parallel_calls=1,
        )
        return tf.data.Dataset.zip(make_dataset(step), numbers).map(
            lambda batch, number: batch
        )

    return make


def send(number):
    os.kill(os.getpid(), number)


def fail():
    raise ConnectionError("The power is gone.")


def outcome(folder, model, logs):
    """Returns all that a run leaves, but for times."""
    lines = map(json.loads, (folder / "log.jsonl").read_text().splitlines())
    for_all = {"seconds", "tokens_per_second"}
    return {
        "weights": {k: v.tolist() for k, v in named_arrays(model).items()},
        "logs": logs,
        "lines": [{k: v for k, v in x.items() if k not in for_all} for x in lines],
        "best": json.loads((folder / "checkpoints" / "best.json").read_text()),
    }


def stop_and_resume(folder, at_step, number, **options):
    """Trains until a signal, resumes, and returns the outcome and the saved step."""
    try:
        train(folder, interrupted_by(lambda: send(number), at_step), **options)
    except (SystemExit, KeyboardInterrupt):
        newest = sorted((folder / "checkpoints").glob("step-*.npz"))[-1]
        return outcome(folder, *train(folder, **options)), newest.name
    raise AssertionError("no signal came")


def main(folder, name):
    """Compares a whole run with one that a signal interrupted, in this process."""
    warnings.simplefilter("error")
    # As in the tests' settings.
    warnings.filterwarnings("ignore", "__array__ implementation", DeprecationWarning)
    strategy = get_strategy(name)
    folder = pathlib.Path(folder)
    expected = outcome(folder / "whole", *train(folder / "whole", strategy=strategy))
    found, newest = stop_and_resume(
        folder / "cut", 5, signal.SIGTERM, strategy=strategy
    )
    print(keras.config.backend(), strategy.num_replicas, newest)
    assert found == expected
