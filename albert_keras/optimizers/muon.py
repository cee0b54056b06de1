"""Muon with ALBERT's exclusions from weight decay."""

import keras

from albert_keras.optimizers.adamw import NO_DECAY_PATTERNS, is_excluded


@keras.saving.register_keras_serializable(package="albert_keras")
class Muon(keras.optimizers.Muon):
    """`keras.optimizers.Muon` that decays neither biases nor normalizations.

    Muon's steps are used for the kernels of the layers, of the pooler and of the
    transform before the predicted words. Adam's steps are used for all other variables:
    embeddings and their projection, biases, normalizations, and kernels of logits.

    Args:
        learning_rate: float or schedule. Default 1e-3, as in Keras. Steps are as large as
            AdamW's at the same rate (Liu et al. 2025).
        weight_decay: float. Used for both kinds of steps. Default 0.01, as in `AdamW`.
        epsilon: float. Default 1e-6, as in `AdamW` (Keras: 1e-7).
        **kwargs: `keras.optimizers.Muon` arguments.

    Example:

    >>> optimizer = Muon(0.5, weight_decay=0.25)
    >>> kernel = keras.Variable([1.0], name="kernel")
    >>> optimizer.apply([keras.ops.zeros(1)], [kernel])
    >>> keras.ops.convert_to_numpy(kernel).tolist()
    [0.875]

    Reference: Jordan et al. 2024, https://kellerjordan.github.io/posts/muon/. Muon
    is neither in the ALBERT paper nor in Google's code.
    """

    def __init__(self, learning_rate=1e-3, weight_decay=0.01, epsilon=1e-6, **kwargs):
        kwargs = {"exclude_layers": ["^sop/", "logit"], **kwargs}
        kwargs.setdefault("adam_weight_decay", weight_decay)
        super().__init__(
            learning_rate=learning_rate,
            weight_decay=weight_decay,
            epsilon=epsilon,
            **kwargs,
        )

    def build(self, variables):
        if not self.built:
            self.exclude_from_weight_decay(
                var_list=[v for v in variables if is_excluded(v, NO_DECAY_PATTERNS)]
            )
        super().build(variables)
