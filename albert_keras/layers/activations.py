"""Activations of the feed-forward sub-layer and of the masked language model head."""

import functools

import keras

ACTIVATION_FUNCTIONS = {
    "gelu_tanh": functools.partial(keras.activations.gelu, approximate=True),
    "gelu": functools.partial(keras.activations.gelu, approximate=False),
    "relu": keras.activations.relu,
}


def activate(name, x, training=False):
    """Applies an activation; in training on TensorFlow as one compiled operation.

    Run one by one, the dozen element-wise operations of gelu and its gradient pass as
    often through memory: on a CPU four times the seconds, and a tenth of a training step
    of ALBERT-base. Compiled, they keep nothing but their input for the gradient. JAX
    compiles all of the step anyhow; inference keeps to plain operations, which every
    server and phone has.

    Args:
        name: str. Key of `ACTIVATION_FUNCTIONS`.
        x: Tensor.
        training: bool.

    Returns:
        Tensor like `x`.
    """
    if training and keras.config.backend() == "tensorflow":
        return _compiled(name)(x)
    return ACTIVATION_FUNCTIONS[name](x)


@functools.cache
def _compiled(name):
    import tensorflow as tf

    function = ACTIVATION_FUNCTIONS[name]

    @tf.function(jit_compile=True, autograph=False)
    def backward(x, upstream):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        return tape.gradient(y, x, output_gradients=upstream)

    forward = tf.function(function, jit_compile=True, autograph=False)
    return tf.custom_gradient(
        lambda x: (forward(x), lambda upstream: backward(x, upstream))
    )
