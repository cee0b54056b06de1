"""Clipping by global norm that means the same on one device and on many."""

import keras
from keras import ops


class ClipAggregatedGradients:
    """Mixin for Keras optimizers: `global_clipnorm` clips the aggregated gradient.

    Keras clips each replica's gradient before they are summed, so that the step depends
    on how the batch was cut. Here the gradients are summed first, which is what the
    paper's single-batch formula says. (The original clips per TPU shard.)

    It overrides two private methods of the Keras optimizer, held by a test.
    """

    def _clip_gradients(self, grads):
        if keras.config.backend() == "tensorflow" and self.global_clipnorm is not None:
            return grads
        return super()._clip_gradients(grads)

    def _all_reduce_sum_gradients(self, grads_and_vars):
        # Called on the TensorFlow backend alone, also with a single replica.
        import tensorflow as tf

        # Tables get slices that may name a row twice: their norm is right only dense.
        dense = [(g if g is None else tf.convert_to_tensor(g), v) for g, v in grads_and_vars]
        reduced = super()._all_reduce_sum_gradients(dense)
        if self.global_clipnorm is None:
            return reduced
        squares = [ops.sum(ops.square(g)) for g, _ in reduced if g is not None]
        norm = ops.sqrt(ops.sum(ops.stack(squares)))
        scale = self.global_clipnorm / ops.maximum(norm, self.global_clipnorm)
        return [(g if g is None else g * ops.cast(scale, g.dtype), v) for g, v in reduced]
