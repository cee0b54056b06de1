"""Seeds of dropout: others on each replica, and the same when a layer is recomputed."""

import keras

# Odd, so that no two replicas share a seed: 2^32 divided by the golden ratio.
REPLICA_STRIDE = 0x9E3779B1


class ReplicaSeedGenerator(keras.random.SeedGenerator):
    """`keras.random.SeedGenerator` whose draws differ between `tf.distribute` replicas.

    Keras mirrors the generator's state, so that each replica would drop the same places
    of its part of the batch. On JAX one program draws for the whole batch.

    Example:

    >>> generator = ReplicaSeedGenerator(seed=7)
    >>> first, second = generator.next(), generator.next()
    >>> bool(keras.ops.all(first == second))
    False
    """

    def next(self, ordered=True):
        seed = super().next(ordered)
        if keras.config.backend() != "tensorflow":
            return seed
        import tensorflow as tf

        context = tf.distribute.get_replica_context()
        if context is None or context.num_replicas_in_sync == 1:
            return seed
        replica = tf.cast(context.replica_id_in_sync_group, seed.dtype)
        stride = tf.constant(REPLICA_STRIDE, seed.dtype)
        return seed + tf.stack([replica * stride, tf.zeros_like(replica)])


class DrawnSeed(keras.random.SeedGenerator):
    """A seed drawn beforehand, so that recomputing a layer repeats its dropout."""

    # By which dropout on PyTorch asks whether there is a seed to be used.
    _initial_seed = 0

    def __init__(self, seed):
        self.drawn = seed

    def next(self, ordered=True):
        return self.drawn


@keras.saving.register_keras_serializable(package="albert_keras")
class Dropout(keras.layers.Layer):
    """Dropout that drops other places on each replica; else `keras.layers.Dropout`.

    Args:
        rate: float in [0, 1). Share of places dropped in training.
        seed: int or `None`, a random one.
    """

    def __init__(self, rate, seed=None, **kwargs):
        super().__init__(**kwargs)
        self.rate = rate
        self.seed = seed
        if rate > 0:
            self.seed_generator = ReplicaSeedGenerator(seed)
        self.supports_masking = True
        self.built = True

    def call(self, inputs, training=False):
        if not (training and self.rate > 0):
            return inputs
        return keras.random.dropout(inputs, self.rate, seed=self.seed_generator)

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        return {**super().get_config(), "rate": self.rate, "seed": self.seed}
