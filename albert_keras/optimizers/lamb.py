"""LAMB, as it was used to train the ALBERT checkpoints."""

import keras
from keras import ops

from albert_keras.keras_internals import variable_index
from albert_keras.optimizers.adamw import NO_DECAY_PATTERNS, is_excluded


@keras.saving.register_keras_serializable(package="albert_keras")
class Lamb(keras.optimizers.Optimizer):
    """LAMB (layer-wise adaptive moments) as in Google's ALBERT code.

    For each variable w with gradient g:

        m = beta_1 m + (1 - beta_1) g
        v = beta_2 v + (1 - beta_2) g²
        u = m / (sqrt(v) + epsilon) + weight_decay w
        w = w - learning_rate (|w| / |u|) u

    Variables whose path matches an exclusion have no decay, or no trust ratio |w| / |u|.
    The ratio is 1 if a norm is 0. `keras.optimizers.Lamb` is different: it always
    corrects the bias of the moments, applies the decay outside the ratio, and also adapts
    biases and normalizations.

    Args:
        learning_rate: float or schedule. Default 0.00176, the paper's for batch 4096.
        weight_decay: float. Default 0.01, as in the original.
        beta_1, beta_2: float. Default as in the original and in Keras.
        epsilon: float. Default 1e-6, as in the original (Keras: 1e-7).
        bias_correction: bool. Whether to divide the moments by 1 - beta^t, as in
            algorithm 2 of the LAMB paper. Default False, as in Google's code.
        exclude_from_weight_decay: Regular expressions, searched in `variable.path`.
        exclude_from_layer_adaptation: The same for the trust ratio. Default:
            `exclude_from_weight_decay`, as in the original.
        **kwargs: See `AdamW`.

    Example:

    >>> import numpy as np
    >>> optimizer = Lamb(0.1, weight_decay=0.0)
    >>> kernel = keras.Variable(np.array([3.0, 4.0]), dtype="float32", name="kernel")
    >>> optimizer.apply([keras.ops.array([1.0, 0.0])], [kernel])
    >>> np.round(keras.ops.convert_to_numpy(kernel), 3).tolist()
    [2.5, 4.0]

    Reference: You et al. 2019, arXiv 1904.00962, algorithm 2; google-research/albert
    lamb_optimizer.py.
    """

    def __init__(
        self,
        learning_rate=0.00176,
        weight_decay=0.01,
        beta_1=0.9,
        beta_2=0.999,
        epsilon=1e-6,
        bias_correction=False,
        exclude_from_weight_decay=NO_DECAY_PATTERNS,
        exclude_from_layer_adaptation=None,
        name="lamb",
        **kwargs,
    ):
        # Without `weight_decay`, which the base class would apply outside the ratio.
        super().__init__(learning_rate=learning_rate, name=name, **kwargs)
        self.decay_rate = weight_decay
        self.beta_1, self.beta_2 = beta_1, beta_2
        self.epsilon = epsilon
        self.bias_correction = bias_correction
        self.decay_exclusions = list(exclude_from_weight_decay)
        if exclude_from_layer_adaptation is None:
            exclude_from_layer_adaptation = exclude_from_weight_decay
        self.adaptation_exclusions = list(exclude_from_layer_adaptation)

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        self._momentums, self._velocities = self.add_optimizer_variables(
            variables, ["momentum", "velocity"]
        )
        # A function, because Keras would track a list as variables of the optimizer.
        self._model_variables = lambda: variables
        # By path, which the variables in TensorFlow's `update_step` do not have.
        self._decays = [not is_excluded(v, self.decay_exclusions) for v in variables]
        self._adapts = [
            not is_excluded(v, self.adaptation_exclusions) for v in variables
        ]

    def update_step(self, gradient, variable, learning_rate):
        index = variable_index(self, variable)
        m, v = self._momentums[index], self._velocities[index]
        learning_rate = ops.cast(learning_rate, variable.dtype)
        gradient = ops.cast(gradient, variable.dtype)
        self.assign_add(m, (gradient - m) * (1.0 - self.beta_1))
        self.assign_add(v, (ops.square(gradient) - v) * (1.0 - self.beta_2))
        update = self._update(index, variable, self.iterations + 1)
        if self._adapts[index]:
            update = update * _trust_ratio(variable, update)
        self.assign_sub(variable, learning_rate * update)

    def trust_ratios(self):
        """Returns the trust ratio |w| / |u| of each adapted variable, by its path.

        They are computed from the moments and weights after the last step, so no step
        has to store them. The step itself used the weights before it.

        Returns:
            Dict of float; empty before the first step.
        """
        if not self.built or int(ops.convert_to_numpy(self.iterations)) == 0:
            return {}
        return {
            variable.path: float(
                _trust_ratio(variable, self._update(index, variable, self.iterations))
            )
            for index, variable in enumerate(self._model_variables())
            if self._adapts[index]
        }

    def _update(self, index, variable, step):
        """Returns u of a variable, from its moments after `step` steps."""
        m = ops.convert_to_tensor(self._momentums[index])
        v = ops.convert_to_tensor(self._velocities[index])
        if self.bias_correction:
            step = ops.cast(step, m.dtype)
            m = m / (1.0 - ops.power(ops.cast(self.beta_1, m.dtype), step))
            v = v / (1.0 - ops.power(ops.cast(self.beta_2, m.dtype), step))
        update = m / (ops.sqrt(v) + self.epsilon)
        if self._decays[index]:
            update = update + self.decay_rate * variable
        return update

    def get_config(self):
        return {
            **super().get_config(),
            "weight_decay": self.decay_rate,
            "beta_1": self.beta_1,
            "beta_2": self.beta_2,
            "epsilon": self.epsilon,
            "bias_correction": self.bias_correction,
            "exclude_from_weight_decay": self.decay_exclusions,
            "exclude_from_layer_adaptation": self.adaptation_exclusions,
        }


def _trust_ratio(variable, update):
    variable_norm = ops.norm(ops.reshape(variable, (-1,)))
    update_norm = ops.norm(ops.reshape(update, (-1,)))
    both = ops.logical_and(variable_norm > 0, update_norm > 0)
    one = ops.ones_like(update_norm)
    return ops.where(both, variable_norm, one) / ops.where(both, update_norm, one)
