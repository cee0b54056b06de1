"""Variables excluded from weight decay and layer adaptation."""

import re

# Google's patterns, from `optimization.py` of the original. They match the same variables
# under the names of our layers.
NO_DECAY_PATTERNS = ("LayerNorm", "layer_norm", "bias")


def is_excluded(variable, patterns):
    """Returns whether a variable's path contains one of the patterns.

    Args:
        variable: Keras variable. Its path is searched, since a name such as "gamma" does
            not tell the layer.
        patterns: Sequence of regular expressions.
    """
    return any(re.search(pattern, variable.path) for pattern in patterns)
