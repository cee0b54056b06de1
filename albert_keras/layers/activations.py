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
        from albert_keras.layers.tensorflow_kernels import compiled

        return compiled(_ROUNDED_ONCE[name])(x)
    return _ROUNDED_ONCE[name](x)


def _round_once(function, x):
    """Returns an activation in the type of `x`, computed in at least float32.

    Gelu is a dozen operations. Rounding each to bfloat16 loses more digits, and takes
    longer on processors: five times as long where XLA compiles them.
    """
    dtype = keras.backend.result_type(x.dtype, "float32")
    return ops.cast(function(ops.cast(x, dtype)), x.dtype)


_ROUNDED_ONCE = {
    name: functools.partial(_round_once, function)
    for name, function in ACTIVATION_FUNCTIONS.items()
}
