"""Activations of the feed-forward sub-layer and of the masked language model head."""

from functools import partial

import keras
from keras import ops


def activate(name, x, training=False):
    """Applies one of `ACTIVATION_FUNCTIONS`, in training on TensorFlow compiled.

    Inference uses plain operations, which all servers and phones support.
    """
    function = ACTIVATION_FUNCTIONS[name]
    if training and keras.config.backend() == "tensorflow":
        from albert_keras.layers.tensorflow_kernels import compiled

        function = compiled(function)
    return function(x)


def _round_once(function, x, **options):
    """Computes an activation in float32 or a wider type; returns the type of `x`.

    Gelu consists of a dozen operations. If each is rounded to bfloat16, the result is
    less accurate, and takes longer on CPUs: 5 times as long when XLA compiles it.
    """
    dtype = keras.backend.result_type(x.dtype, "float32")
    return ops.cast(function(ops.cast(x, dtype), **options), x.dtype)


ACTIVATION_FUNCTIONS = {
    "gelu_tanh": partial(_round_once, keras.activations.gelu, approximate=True),
    "gelu": partial(_round_once, keras.activations.gelu, approximate=False),
    "relu": partial(_round_once, keras.activations.relu),
    "silu": partial(_round_once, keras.activations.silu),
}
