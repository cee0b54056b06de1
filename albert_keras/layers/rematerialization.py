"""Gradients through shared layers in the memory of one of them."""

import keras


def run_encoder_stack(encoders, x, padding_mask, training=False):
    """Applies encoders one after the other, rematerialized where they are to be.

    Args:
        encoders: List of `TransformerEncoder`.
        x: `(batch, sequence_length, hidden_dim)`.
        padding_mask: As `SelfAttention` takes it.
        training: bool.

    Returns:
        Tensor like `x`.
    """
    rematerialization = encoders[0].albert_config.rematerialization
    if training and rematerialization and keras.config.backend() == "tensorflow":
        return _run_rematerialized(encoders, x, padding_mask)
    for encoder in encoders:
        x = encoder(x, padding_mask, training=training)
    return x


def _run_rematerialized(encoders, x, padding_mask):
    """Keeps the input of each encoder alone, and recomputes the rest for the gradient.

    `keras.remat` frees what lies inside of an encoder as well; but TensorFlow adds up the
    gradients of a shared weight when it has those of all its uses: at xxlarge 0.8 GB a
    layer. Here each is added to the sum before the next is computed.
    """
    import tensorflow as tf

    # Drawn beforehand, so that the second run drops the same places.
    seeds = [encoder.draw_seeds() for encoder in encoders]

    def apply(depth, x):
        output, _ = encoders[depth].apply_sub_layers(
            x, padding_mask, seeds[depth], training=True
        )
        return output

    @tf.custom_gradient
    def run(x):
        inputs = []
        for depth in range(len(encoders)):
            inputs.append(x)
            x = apply(depth, x)

        # TensorFlow names no variables where none is trained.
        def gradient(upstream, variables=()):
            sums = [None] * len(variables)
            for depth in reversed(range(len(encoders))):
                with tf.GradientTape() as tape:
                    tape.watch(inputs[depth])
                    # Else TensorFlow would find that it has computed the same before.
                    with tf.control_dependencies([upstream]):
                        output = apply(depth, tf.identity(inputs[depth]))
                upstream, *gradients = tape.gradient(
                    output, [inputs[depth], *variables], output_gradients=upstream
                )
                sums = [_add(*pair) for pair in zip(sums, gradients, strict=True)]
                with tf.control_dependencies([s for s in sums if s is not None]):
                    upstream = tf.identity(upstream)
            return (upstream, sums) if variables else upstream

        return x, gradient

    return run(x)


def _add(total, gradient):
    if total is None or gradient is None:
        return gradient if total is None else total
    return total + gradient
