"""Signatures of a model with exits: its rule, another threshold, and all depths."""

import dataclasses
from functools import partial

from albert_keras.compression import RULES, EarlyExit, ExitRule
from albert_keras.compression.tensorflow_exits import exit_logits
from albert_keras.export.signatures import SERVING_SIGNATURE, THRESHOLD

THRESHOLD_SIGNATURE = "serve_with_threshold"
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
    if "threshold" in RULES[rule.name].parameters:
        adjustable = rule
    else:
        adjustable = ExitRule("difference" if model.num_classes == 1 else "confidence")

    def leave_by_threshold(features):
        threshold = features.pop(THRESHOLD)
        given = dataclasses.replace(adjustable, threshold=threshold)
        return leave(model, given, features)

    options = {
        SERVING_SIGNATURE: {"run": partial(leave, model, rule)},
        THRESHOLD_SIGNATURE: {"run": leave_by_threshold, "takes_threshold": True},
    }
    if all_depths:
        every_depth = {"run": lambda inputs: {EXIT_LOGITS: exit_logits(model, inputs)}}
        options[EXIT_LOGITS] = every_depth
    return options
