"""Dropout seeds that differ between replicas and can be used repeatedly."""

import keras
import numpy as np
from keras import ops


class ReplicaSeedGenerator(keras.random.SeedGenerator):
    """`keras.random.SeedGenerator` whose seeds differ between `tf.distribute` replicas.

    Keras mirrors the generator's state, so all replicas would drop the same positions in
    their parts of the batch. On JAX, one program draws for the whole batch.
    """

    def next(self, ordered=True):
        return _differ_between_replicas(super().next(ordered))

    def draw(self, num_seeds):
        """Returns the seeds of the next `num_seeds` calls of `next`, `(num_seeds, 2)`.

        It changes the state only once. In a deep model, separate changes would be most
        of the graph's nodes.
        """
        dtype = self.state.dtype
        counts = np.stack([np.zeros(num_seeds), np.arange(num_seeds)], axis=1)
        # The product with 1 is a copy, which does not change with the state.
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
    """Generator that returns a drawn seed, because Keras takes no tensors as seeds."""

    def __init__(self, seed):
        # Does not create the base class' state, which is not possible inside a graph.
        self.drawn = seed

    def next(self, ordered=True):
        return self.drawn


def dropout_with_seed(x, rate, seed):
    """Applies dropout with a seed that was drawn before.

    Args:
        x: Tensor.
        rate: float in [0, 1). Share of values to drop.
        seed: Integers, `(2,)`, from `ReplicaSeedGenerator`. The same seed drops the same
            positions, as recomputed layers must.
    """
    if keras.config.backend() == "torch":
        # Keras needs an int on PyTorch, whose generator uses the sum of both numbers.
        return keras.random.dropout(x, rate, seed=int(seed[0] + seed[1]))
    return keras.random.dropout(x, rate, seed=DrawnSeed(seed))


@keras.saving.register_keras_serializable(package="albert_keras")
class Dropout(keras.layers.Dropout):
    """`keras.layers.Dropout` that drops different positions on each replica."""

    def call(self, inputs, training=False):
        if not (training and self.rate > 0):
            return inputs
        seed = _differ_between_replicas(self.seed_generator.next())
        return dropout_with_seed(inputs, self.rate, seed)
