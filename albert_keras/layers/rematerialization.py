"""Gradients through shared layers in the memory of one of them."""

from itertools import groupby

import keras
from keras import ops


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
    layer. Here each is added to the sum before the next is computed. And encoders in a
    row that are one are a loop of the graph, which takes memory too: 20 MiB a layer.
    """
    import tensorflow as tf

    runs = [_Run(encoder, len(list(same))) for encoder, same in groupby(encoders)]
    # Drawn beforehand, so that the second time the same places are dropped.
    seeds = [run.draw_seeds() for run in runs]

    @tf.custom_gradient
    def apply(x):
        inputs = []
        for run, run_seeds in zip(runs, seeds, strict=True):
            x, run_inputs = run.forward(x, padding_mask, run_seeds)
            inputs.append(run_inputs)

        # TensorFlow names no variables where none is trained.
        def gradient(upstream, variables=()):
            sums = [tf.zeros_like(variable) for variable in variables]
            for run, run_seeds, run_inputs in zip(
                reversed(runs), reversed(seeds), reversed(inputs), strict=True
            ):
                upstream, sums = run.backward(
                    upstream, sums, variables, padding_mask, run_seeds, run_inputs
                )
            return (upstream, sums) if variables else upstream

        return x, gradient

    return apply(x)


class _Run:
    """One encoder applied several times, and its gradient, each as a loop."""

    def __init__(self, encoder, depth):
        self.encoder = encoder
        self.depth = depth

    def draw_seeds(self):
        """Returns `(depth, num_seeds, 2)`; `None` without dropout."""
        drawn = [self.encoder.draw_seeds() for _ in range(self.depth)]
        return None if drawn[0] is None else ops.stack([ops.stack(s) for s in drawn])

    def apply(self, x, padding_mask, seeds, index):
        seeds = None if seeds is None else ops.unstack(seeds[index])
        output, _ = self.encoder.apply_sub_layers(x, padding_mask, seeds, training=True)
        return output

    def forward(self, x, padding_mask, seeds):
        """Returns the output and a `tf.TensorArray` of the inputs."""
        import tensorflow as tf

        def step(index, x, inputs):
            inputs = inputs.write(index, x)
            return index + 1, self.apply(x, padding_mask, seeds, index), inputs

        inputs = tf.TensorArray(x.dtype, self.depth, element_shape=x.shape)
        _, x, inputs = tf.while_loop(
            lambda index, *_: index < self.depth, step, (0, x, inputs)
        )
        return x, inputs

    def backward(self, upstream, sums, variables, padding_mask, seeds, inputs):
        """Returns the gradient of the input, and `sums` with those of the variables."""
        import tensorflow as tf

        def step(index, upstream, sums):
            x = inputs.read(index)
            with tf.GradientTape() as tape:
                tape.watch(x)
                output = self.apply(x, padding_mask, seeds, index)
            upstream, *gradients = tape.gradient(
                output, [x, *variables], output_gradients=upstream
            )
            # Variables of other encoders have no gradient here.
            sums = [
                total if gradient is None else total + gradient
                for total, gradient in zip(sums, gradients, strict=True)
            ]
            return index - 1, upstream, sums

        _, upstream, sums = tf.while_loop(
            lambda index, *_: index >= 0,
            step,
            (self.depth - 1, upstream, sums),
            parallel_iterations=1,
        )
        return upstream, sums
