"""Distribution strategies: devices of one machine, several processes, or a TPU."""

import atexit
import contextlib
import dataclasses
import functools
import os
import sys
import warnings
from typing import Any

import numpy as np

from albert_keras.checks import check_choice


@dataclasses.dataclass(frozen=True)
class Strategy:
    """Devices and workers of a training, and the index of this process.

    Args:
        name: str. Key of `STRATEGIES`.
        distribution: `tf.distribute.Strategy`, `keras.distribution.Distribution`, or
            `None` for a single device.
        num_replicas: int. Number of devices of all workers.
        worker: int. Index of this process.
        num_workers: int. Number of processes.

    Example:

    >>> import keras
    >>> strategy = get_strategy("default")
    >>> with strategy.scope():
    ...     layer = keras.layers.Dense(3)
    """

    name: str
    distribution: Any = None
    num_replicas: int = 1
    worker: int = 0
    num_workers: int = 1

    def scope(self):
        """Returns the context in which models are built, trained and measured."""
        if self.distribution is None:
            return contextlib.nullcontext()
        return self.distribution.scope()

    @property
    def is_chief(self):
        """Whether this worker writes files and shows progress."""
        return self.worker == 0

    @property
    def shard(self):
        """`(worker, num_workers)` if each reads its own rows of a batch, else `None`."""
        return (self.worker, self.num_workers) if self.name == "data_parallel" else None

    @contextlib.contextmanager
    def ends_together(self):
        """Waits for all workers at the end of the context.

        A worker with an error ends without waiting. Its usual exit would wait for the
        others, which wait for it.
        """
        try:
            yield
            self.gather(0)
        except BaseException as error:
            if self.num_workers > 1:
                status = error.code if isinstance(error, SystemExit) else 1
                # Called after the error is printed.
                atexit.register(_exit_at_once, status)
            raise

    def gather(self, number):
        """Returns the ints of all workers, by index; blocks until all workers call it."""
        if self.num_workers == 1:
            return [number]
        from jax.experimental import multihost_utils

        return multihost_utils.process_allgather(np.int32(number)).tolist()

    def check_same_step(self, step):
        """Raises a ValueError if not all workers resume at the same step."""
        steps = self.gather(step)
        if len(set(steps)) > 1:
            raise ValueError(
                "All workers must resume from one checkpoint. Received: steps "
                f"{', '.join(map(str, steps))}. Use one run folder, on a shared disk."
            )

    def check_batch_size(self, batch_size):
        """Raises a ValueError if the devices cannot divide a batch equally."""
        if batch_size % self.num_replicas:
            raise ValueError(
                "The batch size must be a multiple of the devices. Received: batch_size="
                f"{batch_size}, {self.num_replicas} devices, strategy {self.name!r}."
            )


def _exit_at_once(status):
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def get_strategy(name):
    """Returns the `Strategy` called `name`.

    Strategies of several workers must be created before anything is computed, and the
    call blocks until all workers have made it. They do not authenticate peers: use them
    only in private networks.

    Args:
        name: str. A key of `STRATEGIES`: `"default"`, the first device that Keras finds;
            `"mirrored"` (TensorFlow), all GPUs of this machine, or without a GPU all
            logical CPU devices; `"tpu"` (TensorFlow), not tested on TPUs: a test only
            compiles a step for them; `"data_parallel"` (JAX), all devices of one or
            several processes, which Keras' environment variables describe; see
            `keras.distribution.initialize`. A lost process ends the others within a
            minute.

    Raises:
        RuntimeError: If the machine or the backend does not support the strategy.
        ValueError: If `name` is unknown (the message lists the names).

    Reference: the guide "Distributed training with Keras 3".
    """
    check_choice("strategy", name, STRATEGIES)
    # Keras is not imported where only the names are needed, as for --help.
    import keras

    needed, make_strategy = STRATEGIES[name]
    found = keras.config.backend()
    if needed not in (None, found):
        raise RuntimeError(
            f"The strategy {name!r} needs Keras on {needed}. Received: KERAS_BACKEND="
            f"{found}. Set KERAS_BACKEND={needed}, or use another strategy."
        )
    return make_strategy()


def _mirrored():
    import tensorflow as tf

    kind = "GPU" if tf.config.list_logical_devices("GPU") else "CPU"
    devices = [device.name for device in tf.config.list_logical_devices(kind)]
    if kind == "CPU" and len(devices) == 1:
        warnings.warn(
            "The strategy 'mirrored' is for several devices. Received: one CPU, no "
            "GPU. Use 'default', or install tensorflow[and-cuda] to use GPUs.",
            stacklevel=3,
        )
    mirrored = tf.distribute.MirroredStrategy(devices)
    return Strategy("mirrored", mirrored, mirrored.num_replicas_in_sync)


def _data_parallel():
    from unittest import mock

    import jax
    import keras

    if any(name.startswith("KERAS_DISTRIBUTION_") for name in os.environ):
        # This service would handle SIGTERM, on which a training writes a checkpoint.
        jax.config.update("jax_enable_preemption_service", False)
        # JAX ends all workers when one has not responded for this time; its default is
        # 100. `keras.distribution.initialize` calls this function without the option.
        initialize = functools.partial(
            jax.distributed.initialize, heartbeat_timeout_seconds=30
        )
        with mock.patch.object(jax.distributed, "initialize", initialize):
            keras.distribution.initialize()
    # Keras must not distribute the rows, because each worker reads its own.
    devices = keras.distribution.DataParallel(auto_shard_dataset=False)
    return Strategy(
        "data_parallel",
        devices,
        devices.num_model_replicas,
        devices.data_shard_id,
        jax.process_count(),
    )


def _tpu():
    import tensorflow as tf

    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver.connect()
    except (ValueError, tf.errors.OpError, NotImplementedError) as error:
        raise RuntimeError(
            'The strategy "tpu" needs a TPU that TensorFlow can use. '
            f"Received: {error}. Use `default` or `mirrored`; or on a TPU machine with "
            "JAX, KERAS_BACKEND=jax and `data_parallel`."
        ) from error
    devices = tf.distribute.TPUStrategy(resolver)
    return Strategy("tpu", devices, devices.num_replicas_in_sync)


# By name: the required backend, or `None`, and a function that creates the strategy.
STRATEGIES = {
    "default": (None, lambda: Strategy("default")),
    "mirrored": ("tensorflow", _mirrored),
    "data_parallel": ("jax", _data_parallel),
    "tpu": ("tensorflow", _tpu),
}
