"""Activations of the feed-forward sub-layer and of the masked language model head."""

import functools

import keras
from keras import ops

ACTIVATION_FUNCTIONS = {
    "gelu_tanh": functools.partial(keras.activations.gelu, approximate=True),
    "gelu": functools.partial(keras.activations.gelu, approximate=False),
    "relu": keras.activations.relu,
    "silu": keras.activations.silu,
}


def activate(name, x, training=False):
    """Applies one of `ACTIVATION_FUNCTIONS`, compiled in training on TensorFlow.

    Inference keeps to plain operations, which every server and phone has.
    """
    if training and keras.config.backend() == "tensorflow":
        from albert_keras.layers.tensorflow_kernels import compiled_activation

        return compiled_activation(name)(x)
    return rounded_once(name, x)


def rounded_once(name, x):
    """Returns the activation in the type of `x`, computed in at least float32.

    Gelu is a dozen operations. Rounding each to bfloat16 loses more digits, and takes
    longer on processors: five times as long where XLA compiles them.
    """
    dtype = keras.backend.result_type(x.dtype, "float32")
    return ops.cast(ACTIVATION_FUNCTIONS[name](ops.cast(x, dtype)), x.dtype)
