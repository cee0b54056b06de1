"""One of several workers that train the same few steps; run as a process of its own.

Trains under one strategy after the other. In a folder for each it writes `<worker>.npz`,
the weights after the steps, and `<worker>.json`, what was measured, with `steps`, the
error about workers that go on from different steps.
"""

import json
import os
import pathlib
import time

import keras
import numpy as np

from albert_keras.models import AlbertBackbone
from albert_keras.optimizers import Lamb, WarmupPolynomialDecay
from albert_keras.pretraining import PretrainingTask
from albert_keras.training import get_strategy

BATCH, NUM_STEPS, MICRO_BATCHES = 12, 5, 3


def train(name, data, output):
    strategy, output = get_strategy(name), pathlib.Path(output, name)
    strategy.check_batch_size(BATCH)
    keras.utils.set_random_seed(3)
    task = PretrainingTask()
    with strategy.scope():
        backbone = AlbertBackbone.from_config_preset(
            "albert_test", num_layers=1, max_sequence_length=61
        )
        model = task.build_model(backbone)
        model.compile(
            Lamb(WarmupPolynomialDecay(0.02, 17, 1), global_clipnorm=0.1),
            weighted_metrics=task.metrics(),
            micro_batches=MICRO_BATCHES,
        )
        history = model.fit(
            task.make_dataset(data, BATCH, seed=7, shard=strategy.shard),
            steps_per_epoch=NUM_STEPS,
            shuffle=False,
            verbose=0,
        )
        results = {name: values[-1] for name, values in history.history.items()}
        results |= task.evaluate(model, data, BATCH, shard=strategy.shard)
    output.mkdir(exist_ok=True)
    np.savez(output / f"{strategy.worker}.npz", *model.get_weights())
    results = {name: float(value) for name, value in results.items()}
    results["steps"] = ""
    strategy.check_same_step(NUM_STEPS)
    try:
        strategy.check_same_step(NUM_STEPS + strategy.worker)
    except ValueError as error:
        results["steps"] = str(error)
    (output / f"{strategy.worker}.json").write_text(json.dumps(results))
    strategy.gather(0)


def main(names, *arguments):
    for name in names.split(","):
        train(name, *arguments)


def lose_the_second():
    """Ends the second of two workers after both have met; the first only waits."""
    strategy = get_strategy("data_parallel")
    strategy.gather(0)
    if strategy.worker == 1:
        os._exit(1)
    time.sleep(90)
