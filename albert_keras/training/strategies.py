"""Distribution strategies: devices of a machine, several machines, or a TPU."""

import atexit
import contextlib
import dataclasses
import os
import sys
import warnings
from typing import Any

import numpy as np

from albert_keras.checks import check_choice, import_optional

# JAX ends all processes when one has not answered for this time.
HEARTBEAT_TIMEOUT_SECONDS = 30


@dataclasses.dataclass(frozen=True)
class Strategy:
    """Devices and workers of a training, and the place of this process among them.

    Args:
        name: str. Key of `STRATEGIES`.
        distribution: `tf.distribute.Strategy`, `keras.distribution.Distribution`, or
            `None` for one device.
        num_replicas: int. Devices of all workers together.
        worker, num_workers: int. Index of this process, and number of them.

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
        return (
            contextlib.nullcontext()
            if self.distribution is None
            else self.distribution.scope()
        )

    @property
    def is_chief(self):
        """Whether this worker writes files and shows progress."""
        return self.worker == 0

    @property
    def shard(self):
        """Index and number of workers, if each reads its own rows of a batch, or None."""
        return (self.worker, self.num_workers) if self.name == "data_parallel" else None

    @contextlib.contextmanager
    def ends_together(self):
        """Context at whose end all workers meet; one with an error ends without them."""
        try:
            yield
            self.wait_for_workers()
        except BaseException as error:
            if self.num_workers > 1:
                status = error.code if isinstance(error, SystemExit) else 1
                # After the error is printed. The usual exit would wait for the others,
                # which wait for this worker.
                atexit.register(_exit_at_once, status)
            raise

    def wait_for_workers(self):
        """Blocks until all workers call it, so that none ends before the others."""
        self.gather(0)

    def gather(self, number):
        """Returns the ints that all workers pass, in their order; blocks until then."""
        if self.num_workers == 1:
            return [number]
        multihost = import_optional("jax.experimental.multihost_utils", "jax")
        return multihost.process_allgather(np.int32(number)).tolist()

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

    Strategies of several workers must be made before anything is computed: the call
    blocks until all workers make it. They do not authenticate peers: use them in private
    networks only.

    Args:
        name: str. A key of `STRATEGIES`: `"default"`, the first device that Keras finds;
            on TensorFlow `"mirrored"`, all GPUs of this machine (without a GPU all
            logical CPU devices), or `"tpu"`, which has not run on a TPU (tests lower a
            step for TPUs); on JAX `"data_parallel"`, all devices of one or several
            processes, see `join_processes`.

    Raises:
        RuntimeError: If the machine or the backend does not support it.
        ValueError: If `name` is unknown (the message lists the names), or the environment
            variables of several workers are not valid.

    Reference: the guide "Distributed training with Keras 3".
    """
    check_choice("strategy", name, STRATEGIES)
    # Where only the names are needed, as for --help, Keras need not be imported.
    import keras

    needed, make_strategy = STRATEGIES[name]
    found = keras.config.backend()
    if needed not in (None, found):
        raise RuntimeError(
            f"The strategy {name!r} needs Keras on {needed}. Received: KERAS_BACKEND="
            f"{found}. Set KERAS_BACKEND={needed}, or use another strategy."
        )
    return make_strategy()


def _default():
    return Strategy("default")


def _mirrored():
    import tensorflow as tf

    devices = tf.config.list_logical_devices("GPU")
    if not devices:
        devices = tf.config.list_logical_devices("CPU")
        if len(devices) == 1:
            warnings.warn(
                "The strategy 'mirrored' is for GPUs, of which TensorFlow sees none: the "
                "processor trains alone. Leave it out, or install tensorflow[and-cuda].",
                stacklevel=3,
            )
    mirrored = tf.distribute.MirroredStrategy([device.name for device in devices])
    return Strategy("mirrored", mirrored, mirrored.num_replicas_in_sync)


def _data_parallel():
    import keras

    num_processes = join_processes()
    # Keras need not distribute the rows, since each worker reads its own.
    devices = keras.distribution.DataParallel(auto_shard_dataset=False)
    return Strategy(
        "data_parallel",
        devices,
        devices.num_model_replicas,
        devices.data_shard_id,
        num_processes,
    )


def join_processes():
    """Joins the JAX processes in Keras' environment variables; returns their number.

    The variables are `KERAS_DISTRIBUTION_JOB_ADDRESSES`, which begins with host and port
    of process 0; `KERAS_DISTRIBUTION_NUM_PROCESSES`; and
    `KERAS_DISTRIBUTION_PROCESS_ID`, from 0. With none of them there is one process.

    Raises:
        ValueError: If only some of them are set, or one is not valid.
    """
    names = [
        f"KERAS_DISTRIBUTION_{name}"
        for name in ("JOB_ADDRESSES", "NUM_PROCESSES", "PROCESS_ID")
    ]
    values = [os.environ.get(name) for name in names]
    if values == [None] * 3:
        return 1
    addresses, num_processes, process = values
    if not all(values) or not (num_processes + process).isdecimal():
        raise ValueError(
            "Several processes need all three variables, the first a host and port, the "
            f"others numbers. Received: {dict(zip(names, values, strict=True))}."
        )
    jax = import_optional("jax", "jax")
    # This service would take SIGTERM, on which a run saves a checkpoint.
    jax.config.update("jax_enable_preemption_service", False)
    # As `keras.distribution.initialize`, which has no argument for the timeout.
    jax.distributed.initialize(
        addresses.split(",")[0],
        int(num_processes),
        int(process),
        heartbeat_timeout_seconds=HEARTBEAT_TIMEOUT_SECONDS,
    )
    return int(num_processes)


def _tpu():
    import tensorflow as tf

    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver.connect()
    except (ValueError, tf.errors.OpError, NotImplementedError) as error:
        raise RuntimeError(
            'The strategy "tpu" needs a TPU that TensorFlow can see. '
            f"Received: {error}. Use `default` or `mirrored`; or on a TPU machine with "
            "JAX, KERAS_BACKEND=jax and `data_parallel`."
        ) from error
    devices = tf.distribute.TPUStrategy(resolver)
    return Strategy("tpu", devices, devices.num_replicas_in_sync)


# By name: the backend that is needed, if any, and a function that makes the strategy.
STRATEGIES = {
    "default": (None, _default),
    "mirrored": ("tensorflow", _mirrored),
    "data_parallel": ("jax", _data_parallel),
    "tpu": ("tensorflow", _tpu),
}
