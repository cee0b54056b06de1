"""Signatures of a model with exits: its rule, and all depths."""

from functools import partial

from albert_keras.compression import EarlyExit
from albert_keras.compression.tensorflow_exits import exit_logits
from albert_keras.export.signatures import SERVING_SIGNATURE

# Also the name of its output.
EXIT_LOGITS = "exit_logits"


def exit_options(model, leave, rule=None, all_depths=False):
    """Returns the arguments of `serve_features` for early exit, by signature.

    Args:
        model: Any model; without exits there is one signature.
        leave: Function from model, rule and features to outputs, of
            `compression.tensorflow_exits`.
        rule: `ExitRule`, or `None` for the model's own.
        all_depths: bool. Whether there is a signature of the logits of all depths.

    Raises:
        ValueError: If a rule is given for a model without exits, or does not fit.
    """
    if rule is None and not hasattr(model, "exit_logits"):
        return {SERVING_SIGNATURE: {}}
    rule = EarlyExit(model, rule).rule
    options = {SERVING_SIGNATURE: {"run": partial(leave, model, rule)}}
    if all_depths:
        options[EXIT_LOGITS] = {
            "run": lambda inputs: {EXIT_LOGITS: exit_logits(model, inputs)}
        }
    return options
