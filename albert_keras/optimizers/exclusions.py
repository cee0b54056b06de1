"""Variables excluded from weight decay and layer adaptation."""

import re

# Google's patterns, from `optimization.py` of the original. They match the same variables
# under the names of our layers.
NO_DECAY_PATTERNS = ("LayerNorm", "layer_norm", "bias")


def is_excluded(variable, patterns):
    """Returns whether the path of a variable contains one of the regular expressions.

    Not its name, since "gamma" does not tell the layer.
    """
    return any(re.search(pattern, variable.path) for pattern in patterns)
