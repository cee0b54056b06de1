"""Clipping by global norm that means the same on one device and on many."""

import keras
from keras import ops


class ClipAggregatedGradients:
    """Mixin for Keras optimizers: `global_clipnorm` clips the aggregated gradient.

    Keras clips each replica's gradient before they are summed, so that the step depends
    on how the batch was cut. Here the gradients are summed first, which is what the
    paper's single-batch formula says. (The original clips per TPU shard.)

    A table that is only looked up, such as the segments', gets a gradient of slices, one
    for each lookup. On TensorFlow they enter the norm one by one, not summed by row: the
    original's norm, and as independent of how the batch was cut. On JAX gradients are
    dense, so that there the norm is another one for these tables.

    It overrides two private methods of the Keras optimizer, held by a test.
    """

    def _clip_gradients(self, grads):
        if keras.config.backend() == "tensorflow" and self.global_clipnorm is not None:
            return grads
        return super()._clip_gradients(grads)

    def _all_reduce_sum_gradients(self, grads_and_vars):
        # Called on the TensorFlow backend alone, also with a single replica.
        return self.clip_aggregated(super()._all_reduce_sum_gradients(grads_and_vars))

    def clip_aggregated(self, grads_and_vars):
        """Clips gradients that were summed over all replicas, on TensorFlow.

        Args:
            grads_and_vars: Iterable of pairs of a gradient, dense, of slices or `None`,
                and its variable.

        Returns:
            List of pairs, the gradients dense.
        """
        import tensorflow as tf

        grads_and_vars = list(grads_and_vars)
        scale = 1.0
        if self.global_clipnorm is not None:
            norm = tf.linalg.global_norm([gradient for gradient, _ in grads_and_vars])
            scale = self.global_clipnorm / ops.maximum(norm, self.global_clipnorm)
        return [
            (g if g is None else tf.convert_to_tensor(g) * ops.cast(scale, g.dtype), v)
            for g, v in grads_and_vars
        ]
