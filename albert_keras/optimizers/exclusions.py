"""Which variables decay and adaptation leave out, in the original and here."""

import re

# Google's patterns "LayerNorm", "layer_norm" and "bias", which cover the same variables
# under the names of our layers. `optimization.py` of the original.
NO_DECAY_PATTERNS = ("LayerNorm", "layer_norm", "bias")


def is_excluded(variable, patterns):
    """Tells whether a pattern is found in a variable's path.

    Args:
        variable: Keras variable. Its path, not its name: "gamma" alone does not say
            whose it is.
        patterns: Sequence of regular expressions.
    """
    return any(re.search(pattern, variable.path) for pattern in patterns)
