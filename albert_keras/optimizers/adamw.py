"""AdamW with ALBERT's exclusions from weight decay and learning rates by layer."""

import re

import keras
from keras import ops

from albert_keras.keras_internals import DecaysInUpdateStep, variable_index

# Google's patterns, from `optimization.py` of the original. They match the same variables
# in our layers.
NO_DECAY_PATTERNS = ("LayerNorm", "layer_norm", "bias")
# A middle value of the paper's table 14.
BASE_RATE = 2e-5
# Width of the smallest model of the paper. The rates of task recipes are for this width.
BASE_WIDTH = 768
# Rule for narrower models; measured, see `docs/results/measurements.md`.
_POWER, _HIGHEST_RATE = 2.93, 1e-3
_LONG_RUN, _SHORT_RUN_FACTOR = 4000, 2
_RANDOM_RATE = 1e-4


def is_excluded(variable, patterns):
    """Returns whether the path of a variable contains one of the regular expressions.

    Its name is not enough, because "gamma" does not name the layer.
    """
    return any(re.search(pattern, variable.path) for pattern in patterns)


@keras.saving.register_keras_serializable(package="albert_keras")
class AdamW(DecaysInUpdateStep, keras.optimizers.AdamW):
    """`keras.optimizers.AdamW` that decays neither biases nor normalizations.

    Args:
        learning_rate: float or schedule. By default, a model of this package chooses the
            rate by its width and depth when it is compiled; other models use 2e-5.
        weight_decay: float. Default 0.01, as in the original.
        epsilon: float. Default 1e-6, as in the original (Keras: 1e-7).
        rate_factors: Dict from a regular expression to a float. The learning rate and
            the decay of a variable are multiplied by the factor of the first expression
            found in its path. Default: no factors.
        **kwargs: `keras.optimizers.AdamW` arguments. In models of this package
            `clipnorm`, `global_clipnorm` and `clipvalue` clip the gradient summed over
            all replicas, in other Keras models the gradient of each replica.

    Example:

    >>> optimizer = AdamW(0.5, weight_decay=0.25, rate_factors={"^embedding/": 0.5})
    >>> kernel = keras.Variable([1.0], name="kernel")
    >>> optimizer.apply([ops.zeros(1)], [kernel])
    >>> ops.convert_to_numpy(kernel).tolist()
    [0.875]

    Reference: google-research/albert optimization.py `AdamWeightDecayOptimizer`. A
    difference: Keras corrects the bias of the moments. Rate factors:
    google-research/electra model/optimization.py `_get_layer_lrs`.
    """

    def __init__(
        self,
        learning_rate=None,
        weight_decay=0.01,
        epsilon=1e-6,
        *,
        rate_factors=None,
        **kwargs,
    ):
        super().__init__(
            learning_rate=BASE_RATE if learning_rate is None else learning_rate,
            weight_decay=weight_decay,
            epsilon=epsilon,
            **kwargs,
        )
        # If true, a model may choose the rate.
        self.has_default_rate = learning_rate is None
        self.rate_factors = dict(rate_factors or {})

    def build(self, variables):
        if not self.built:
            self._decays = [not is_excluded(v, NO_DECAY_PATTERNS) for v in variables]
            self._factors = [self._find_factor(variable) for variable in variables]
        super().build(variables)

    def update_step(self, gradient, variable, learning_rate):
        index = variable_index(self, variable)
        learning_rate = learning_rate * self._factors[index]
        if self._decays[index]:
            share = ops.cast(learning_rate * self.weight_decay, variable.dtype)
            self.assign_sub(variable, variable * share)
        super().update_step(gradient, variable, learning_rate)

    def _find_factor(self, variable):
        for pattern, factor in self.rate_factors.items():
            if re.search(pattern, variable.path):
                return factor
        return 1.0

    def get_config(self):
        return {**super().get_config(), "rate_factors": self.rate_factors}


def rate_of_shape(hidden_dim, num_layers, random_weights=False, num_steps=_LONG_RUN):
    """Returns the peak rate at which a model is fine-tuned, by its width and depth.

    Narrow models with more than 3 layers collapse at the rates of shallow ones. Runs of
    fewer than 4,000 steps have up to twice the rate. With `random_weights` the rate is
    at least 1e-4.

    >>> [rate_of_shape(width, 3) for width in (8, 128, 256, 768, 4096)]
    [0.001, 0.001, 0.0005, 2e-05, 2e-05]
    >>> [rate_of_shape(256, depth) for depth in (1, 3, 6, 12)]
    [0.0005, 0.0005, 0.00025, 0.00013]
    >>> [rate_of_shape(256, 3, num_steps=steps) for steps in (300, 1000, 2000, 9000)]
    [0.001, 0.001, 0.00071, 0.0005]
    """
    rate = BASE_RATE * max(1, BASE_WIDTH / hidden_dim) ** _POWER
    rate *= min(_SHORT_RUN_FACTOR, max(1, _LONG_RUN / num_steps) ** 0.5)
    rate = min(rate, _HIGHEST_RATE) * min(1, 3 / num_layers)
    return rounded_rate(max(rate, _RANDOM_RATE if random_weights else BASE_RATE))


def rounded_rate(rate):
    """Returns a rate rounded to two digits."""
    return float(f"{rate:.2g}")
