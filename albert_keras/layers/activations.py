"""Activations of the feed-forward sub-layer and of the masked language model head."""

import functools

import keras

ACTIVATION_FUNCTIONS = {
    "gelu_tanh": functools.partial(keras.activations.gelu, approximate=True),
    "gelu": functools.partial(keras.activations.gelu, approximate=False),
    "relu": keras.activations.relu,
}


def activate(name, x, training=False):
    """Applies an activation; in training on TensorFlow, as one compiled operation.

    Inference keeps to plain operations, which every server and phone has.

    Args:
        name: str. Key of `ACTIVATION_FUNCTIONS`.
        x: Tensor.
        training: bool.

    Returns:
        Tensor like `x`.
    """
    if training and keras.config.backend() == "tensorflow":
        from albert_keras.layers.tensorflow_kernels import compiled_activation

        return compiled_activation(name)(x)
    return ACTIVATION_FUNCTIONS[name](x)
