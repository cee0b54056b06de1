"""Activations of the feed-forward sub-layer and of the masked language model head."""

import functools

import keras

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
    return ACTIVATION_FUNCTIONS[name](x)
