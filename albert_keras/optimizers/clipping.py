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
        import tensorflow as tf

        reduced = super()._all_reduce_sum_gradients(grads_and_vars)
        scale = 1.0
        if self.global_clipnorm is not None:
            norm = tf.linalg.global_norm([gradient for gradient, _ in reduced])
            scale = self.global_clipnorm / ops.maximum(norm, self.global_clipnorm)
        return [
            (g if g is None else tf.convert_to_tensor(g) * ops.cast(scale, g.dtype), v)
            for g, v in reduced
        ]
