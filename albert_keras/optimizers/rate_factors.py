"""A learning rate of its own for each part of a model, as layer-wise decay wants it."""

import re


class RateFactors:
    """Mixin for Keras optimizers: `rate_factors` scale the rate of some variables.

    The weight decay, which the rate scales, is scaled along. It overrides
    `_apply_weight_decay`, a private method of Keras, held by a test.

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
        super().update_step(gradient, variable, learning_rate * factor)

    def _find_factor(self, variable):
        for pattern, factor in self.rate_factors.items():
            if re.search(pattern, variable.path):
                return factor
        return 1.0

    def _apply_weight_decay(self, variables):
        whole = self.weight_decay
        if whole is None:
            return
        for factor in sorted(set(self._factors)):
            chosen = [v for v in variables if self._find_factor(v) == factor]
            self.weight_decay = whole * factor
            super()._apply_weight_decay(chosen)
        self.weight_decay = whole

    def get_config(self):
        return {**super().get_config(), "rate_factors": self.rate_factors}
