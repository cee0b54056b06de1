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
    """Applies one of `ACTIVATION_FUNCTIONS`, in training on TensorFlow compiled.

    Inference uses plain operations, which all servers and phones support.
    """
    if training and keras.config.backend() == "tensorflow":
        from albert_keras.layers.tensorflow_kernels import compiled

        return compiled(_ROUNDED_ONCE[name])(x)
    return _ROUNDED_ONCE[name](x)


def _round_once(function, x):
    """Computes an activation in float32 or a wider type; returns the type of `x`.

    Gelu consists of a dozen operations. If each is rounded to bfloat16, the result is
    less accurate, and takes longer on CPUs: 5 times as long when XLA compiles it.
    """
    dtype = keras.backend.result_type(x.dtype, "float32")
    return ops.cast(function(ops.cast(x, dtype)), x.dtype)


_ROUNDED_ONCE = {
    name: functools.partial(_round_once, function)
    for name, function in ACTIVATION_FUNCTIONS.items()
}
