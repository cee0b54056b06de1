"""Layer normalization with a gradient of few operations."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="albert_keras")
class LayerNormalization(keras.layers.LayerNormalization):
    """`keras.layers.LayerNormalization` over the last axis, trained in fewer operations.

    In training on TensorFlow the gradient is written out. Inference keeps to plain
    operations.

    Reference: Ba et al. 2016, arXiv 1607.06450.
    """

    def call(self, inputs, training=False):
        if not (training and keras.config.backend() == "tensorflow"):
            return super().call(inputs)
        from albert_keras.layers.tensorflow_kernels import normalization_with_gradient

        dtype = keras.backend.result_type(inputs.dtype, "float32")
        arguments = [ops.cast(x, dtype) for x in (inputs, self.gamma, self.beta)]
        outputs = normalization_with_gradient(self.epsilon)(*arguments)
        return ops.cast(outputs, self.compute_dtype)
