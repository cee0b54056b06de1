"""Where training runs: one device, all devices of this machine, or a TPU."""

from albert_keras.checks import check_choice


def default_strategy():
    """Returns TensorFlow's default strategy: the first device."""
    import tensorflow as tf

    return tf.distribute.get_strategy()


def mirrored_strategy():
    """Returns a strategy over all GPUs, or all logical CPU devices without a GPU."""
    import tensorflow as tf

    devices = tf.config.list_logical_devices("GPU")
    devices = devices or tf.config.list_logical_devices("CPU")
    return tf.distribute.MirroredStrategy([device.name for device in devices])


def tpu_strategy():
    """Returns a strategy over the TPU this process can see, as in Colab.

    Raises:
        RuntimeError: If there is no TPU.
    """
    import tensorflow as tf

    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver.connect()
    except (ValueError, tf.errors.OpError, NotImplementedError) as error:
        raise RuntimeError(
            'The strategy "tpu" needs a TPU that TensorFlow can see. '
            f"Received: {error}. Use `default` or `mirrored`."
        ) from error
    return tf.distribute.TPUStrategy(resolver)


STRATEGIES = {
    "default": default_strategy,
    "mirrored": mirrored_strategy,
    "tpu": tpu_strategy,
}


def get_strategy(name):
    """Returns the `tf.distribute` strategy called `name`.

    Args:
        name: str. A key of `STRATEGIES`.

    Raises:
        ValueError: If `name` is unknown; the message lists the known ones.
    """
    check_choice("strategy", name, STRATEGIES)
    return STRATEGIES[name]()
