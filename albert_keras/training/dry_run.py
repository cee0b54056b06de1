"""Dry run: measures the time and memory of some real steps, then undoes them."""

import math
import sys
import time

import keras
import numpy as np

from albert_keras.training.checkpoints import named_arrays, named_variables
from albert_keras.training.steps import tokens_per_step


def measure_steps(model, dataset, num_steps, num_workers=1, num_calls=10):
    """Times some steps after the first ones, which compile; then restores all variables.

    Args:
        model: Compiled and built Keras model.
        dataset: Endless `tf.data.Dataset` of batches.
        num_steps: int. Number of steps of the training, for the estimates.
        num_workers: int > 0. Workers, which divide a batch equally.
        num_calls: int > 0. Number of timed calls, each of `steps_per_execution` steps.

    Returns:
        Dict: `batch`, the shapes of the features; `parameters`; `seconds_per_step`;
        `core_seconds_per_step`, the sum over all CPU cores; `variables_memory`, of
        weights, optimizer slots and gradients, and `peak_memory`, in bytes; `num_steps`;
        `hours` that they take without evaluations. If the number of tokens in a batch is
        fixed, also `tokens_per_second` and `positions` of all steps, padding included.
    """
    before = named_arrays(model)
    times = []
    # The callback gets logs that are numbers, so the step is finished on the device too.
    timer = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: times.append(
            (time.monotonic(), time.process_time())
        )
    )
    calls = (1 + num_calls) * model.steps_per_execution
    options = {"callbacks": [timer], "shuffle": False, "verbose": 0}
    try:
        model.fit(dataset, steps_per_epoch=calls, **options)
    finally:
        for name, variable in named_variables(model).items():
            variable.assign(before[name])
    # The median, because the machine may pause.
    medians = np.median(np.diff(times, axis=0), axis=0) / model.steps_per_execution
    seconds, core_seconds = medians.tolist()
    gradients = sum(
        math.prod(v.shape) * np.dtype(v.dtype).itemsize
        for v in model.trainable_variables
    )
    features = dataset.element_spec[0]
    results = {
        "batch": {name: list(spec.shape) for name, spec in features.items()},
        "parameters": model.count_params(),
        "seconds_per_step": seconds,
        "core_seconds_per_step": core_seconds,
        "variables_memory": sum(array.nbytes for array in before.values()) + gradients,
        "peak_memory": peak_memory(),
        "num_steps": num_steps,
        "hours": num_steps * seconds / 3600,
    }
    if tokens := tokens_per_step(dataset, num_workers):
        results["tokens_per_second"] = tokens / seconds
        results["positions"] = num_steps * tokens
    return results


def peak_memory():
    """Returns the peak memory in bytes of the first accelerator, or of this process.

    It is `None` if the operating system does not report it (Windows).
    """
    if keras.config.backend() == "jax":
        import jax

        statistics = jax.local_devices()[0].memory_stats()
        if statistics:
            return statistics["peak_bytes_in_use"]
    else:
        import tensorflow as tf

        if tf.config.list_logical_devices("GPU"):
            return tf.config.experimental.get_memory_info("GPU:0")["peak"]
    try:
        import resource
    except ImportError:
        return None
    kilobyte = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * kilobyte
