"""Dropout seeds that differ between replicas and can be used twice."""

import keras
import numpy as np
from keras import ops


class ReplicaSeedGenerator(keras.random.SeedGenerator):
    """`keras.random.SeedGenerator` whose seeds differ between `tf.distribute` replicas.

    Keras mirrors the generator's state, so that each replica would drop the same places
    of its part of the batch. On JAX, one program draws for the whole batch.
    """

    def next(self, ordered=True):
        return _differ_between_replicas(super().next(ordered))

    def draw(self, num_seeds):
        """Returns the seeds that as many calls of `next` return, `(num_seeds, 2)`.

        One change of the state, however many: in a deep model these would be most of
        the graph's nodes.
        """
        dtype = self.state.dtype
        counts = np.stack([np.zeros(num_seeds), np.arange(num_seeds)], axis=1)
        # Times 1 makes a copy, which the change of the state leaves as it is.
        first = self.state.value * 1
        self.state.assign(first + ops.convert_to_tensor([0, num_seeds], dtype))
        seeds = first + ops.convert_to_tensor(counts.astype(dtype))
        return _differ_between_replicas(seeds)


def _differ_between_replicas(seeds):
    if keras.config.backend() != "tensorflow":
        return seeds
    from albert_keras.layers.tensorflow_kernels import offset_by_replica

    return offset_by_replica(seeds)


class DrawnSeed(keras.random.SeedGenerator):
    """Generator that returns one drawn seed, since Keras takes no tensors as seeds."""

    def __init__(self, seed):
        # Without the base class' state, which cannot be made while a graph is traced.
        self.drawn = seed

    def next(self, ordered=True):
        return self.drawn


def dropout_with_seed(x, rate, seed):
    """Applies dropout with a seed drawn beforehand.

    Args:
        x: Tensor.
        rate: float in [0, 1). Share of values to drop.
        seed: Integers, `(2,)`, as `ReplicaSeedGenerator` draws them. The same seed drops
            the same places, as a recomputed layer must.
    """
    if keras.config.backend() == "torch":
        # Of both numbers PyTorch's generator takes the sum, and Keras takes an integer.
        return keras.random.dropout(x, rate, seed=int(seed[0] + seed[1]))
    return keras.random.dropout(x, rate, seed=DrawnSeed(seed))


@keras.saving.register_keras_serializable(package="albert_keras")
class Dropout(keras.layers.Layer):
    """`keras.layers.Dropout` that drops other places on each `tf.distribute` replica.

    Args:
        rate: float in [0, 1). Share of values to drop in training.
        seed: int, or `None` for a random one.
    """

    def __init__(self, rate, seed=None, **kwargs):
        super().__init__(**kwargs)
        self.rate = rate
        self.seed = seed
        if rate > 0:
            self.seed_generator = ReplicaSeedGenerator(seed)
        self.built = True

    def call(self, inputs, training=False):
        if not (training and self.rate > 0):
            return inputs
        return keras.random.dropout(inputs, self.rate, seed=self.seed_generator)

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        return {**super().get_config(), "rate": self.rate, "seed": self.seed}
