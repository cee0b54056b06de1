"""AdamW for fine-tuning and for small batches, with ALBERT's exclusions and clipping."""

import keras

from albert_keras.optimizers.clipping import ClipAggregatedGradients
from albert_keras.optimizers.exclusions import NO_DECAY_PATTERNS, is_excluded
from albert_keras.optimizers.rate_factors import RateFactors


@keras.saving.register_keras_serializable(package="albert_keras")
class AdamW(RateFactors, ClipAggregatedGradients, keras.optimizers.AdamW):
    """`keras.optimizers.AdamW` that decays neither biases nor normalizations.

    Args:
        learning_rate: float or schedule. Default 2e-5, a middle value of the paper's
            table 14.
        weight_decay: float. Default 0.01, as the original.
        epsilon: float. Default 1e-6, as the original (Keras: 1e-7).
        **kwargs: `keras.optimizers.AdamW` arguments; `global_clipnorm` clips the
            gradient summed over all replicas; `rate_factors`, see `RateFactors`.

    Reference: google-research/albert optimization.py `AdamWeightDecayOptimizer`; differs
    in that Keras corrects the bias of the moments.
    """

    def __init__(self, learning_rate=2e-5, weight_decay=0.01, epsilon=1e-6, **kwargs):
        super().__init__(
            learning_rate=learning_rate,
            weight_decay=weight_decay,
            epsilon=epsilon,
            **kwargs,
        )

    def build(self, variables):
        if not self.built:
            excluded = [v for v in variables if is_excluded(v, NO_DECAY_PATTERNS)]
            self.exclude_from_weight_decay(var_list=excluded)
        super().build(variables)
