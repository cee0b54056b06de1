"""A learning rate of its own for each part of a model, as layer-wise decay wants it."""

import re

from keras import ops


class RateFactors:
    """Mixin for Keras optimizers: `rate_factors` scale the rate of some variables.

    The decay of weights, which goes with the rate, is scaled along. It overrides and
    calls private methods of Keras, held by a test.

    Args:
        rate_factors: Dict from a regular expression, searched for in a variable's path,
            to what its rate is multiplied by: the first that is found. Others' is 1.
    """

    def __init__(self, *args, rate_factors=None, **kwargs):
        super().__init__(*args, **kwargs)
        self.rate_factors = dict(rate_factors or {})
        self._factors = []

    def build(self, variables):
        if not self.built:
            self._factors = [self._find_factor(variable) for variable in variables]
        super().build(variables)

    def update_step(self, gradient, variable, learning_rate):
        factor = self._factors[self._get_variable_index(variable)]
        learning_rate = learning_rate * factor
        if self.weight_decay and self._use_weight_decay(variable):
            share = ops.cast(learning_rate * self.weight_decay, variable.dtype)
            self.assign_sub(variable, variable * share)
        super().update_step(gradient, variable, learning_rate)

    def _apply_weight_decay(self, variables):
        """Leaves the decay to `update_step`, which knows each variable's rate."""

    def _find_factor(self, variable):
        for pattern, factor in self.rate_factors.items():
            if re.search(pattern, variable.path):
                return factor
        return 1.0

    def get_config(self):
        return {**super().get_config(), "rate_factors": self.rate_factors}
