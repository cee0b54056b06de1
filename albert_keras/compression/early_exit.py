"""Rules of early exit, computed with NumPy or in graphs."""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from albert_keras.checks import check_choice, is_number


def always(logits, previous, threshold, xp):
    """Returns True for each row: `min_depth` alone decides."""
    return xp.max(logits, axis=-1) == xp.max(logits, axis=-1)


def has_same_class(logits, previous, threshold, xp):
    """Returns whether the most probable class is the same as at the previous depth."""
    # LiteRT lacks operations of Keras' argmax.
    both = xp.logical_and(is_largest(logits, xp), is_largest(previous, xp))
    return xp.any(both, axis=-1)


def is_largest(logits, xp):
    """Returns where each row of logits is largest."""
    return logits == xp.max(logits, axis=-1, keepdims=True)


def is_confident(logits, previous, threshold, xp):
    """Returns whether the largest probability is at least the threshold."""
    return max_probability(logits, xp) >= threshold


def max_probability(logits, xp):
    """Returns the largest probability of each row of logits."""
    distances = xp.exp(logits - xp.max(logits, axis=-1, keepdims=True))
    return 1.0 / xp.sum(distances, axis=-1)


def is_close(logits, previous, threshold, xp):
    """Returns whether a number changes by at most the threshold from the last depth."""
    return xp.max(xp.abs(logits - previous), axis=-1) <= threshold


class Criterion(NamedTuple):
    """Condition at a depth, or at several in a row, for a row to exit.

    Attributes:
        holds: Function of `logits` and `previous`, the logits of the previous depth, both
            `(batch, num_classes)`; of the rule's threshold; and of `numpy` or
            `keras.ops`. It returns booleans `(batch,)`.
        parameters: Names of the fields of `ExitRule` that it uses.
        of_numbers: bool. True for regression, False for classification, `None` for both.
        compares: bool. Whether it needs a previous depth.
    """

    holds: Callable
    parameters: tuple = ()
    of_numbers: bool | None = False
    compares: bool = False


_STREAK = ("threshold", "patience")
RULES = {
    "fixed_depth": Criterion(always, of_numbers=None),
    "patience": Criterion(has_same_class, ("patience",), compares=True),
    "confidence": Criterion(is_confident, ("threshold", "temperatures")),
    "patient_confidence": Criterion(is_confident, (*_STREAK, "temperatures")),
    "difference": Criterion(is_close, _STREAK, of_numbers=True, compares=True),
}


@dataclasses.dataclass(frozen=True)
class ExitRule:
    """Rule of early exit: a row exits at the first depth where its criterion is met.

    Args:
        name: str, a key of `RULES`: `"fixed_depth"`, `"patience"` (the same class at
            several depths in a row), `"confidence"`, `"patient_confidence"` (confident at
            several depths in a row), or for regression `"difference"` (a number that no
            longer changes).
        threshold: float. Least probability, or largest difference.
        patience: int. Number of depths in a row at which the criterion must hold.
        min_depth: int. First depth, from 1, at which a row may exit.
        temperatures: List of float, one for each depth. Logits are divided by them
            before the softmax; empty for 1.

    Example:

    >>> logits = np.array([[[0.0, 2.0], [0.0, 3.0], [1.0, 0.0]]])
    >>> simulate_exits(ExitRule("patience"), logits).tolist()
    [2]
    >>> simulate_exits(ExitRule("confidence", threshold=0.99), logits).tolist()
    [3]

    Reference: Zhou et al. 2020, arXiv 2006.04152 (patience, difference); Schwartz et al.
    2020, arXiv 2004.07453 (temperatures); Zhang et al. 2022, PCEE-BERT.
    """

    name: str
    threshold: Any = None
    patience: Any = 1
    min_depth: int = 1
    temperatures: list = dataclasses.field(default_factory=list)

    def check(self, num_layers, num_classes):
        """Raises a ValueError if the rule is invalid for a model."""
        check_choice("name", self.name, RULES)
        has, of_numbers = RULES[self.name].parameters, RULES[self.name].of_numbers

        def is_depth(value):
            return type(value) is int and 1 <= value <= num_layers

        required = {
            "a model of classification": of_numbers is not False or num_classes > 1,
            "a model of regression": of_numbers is not True or num_classes == 1,
            f"`min_depth` an integer, 1 to {num_layers}": is_depth(self.min_depth),
            f"`patience` an integer, 1 to {num_layers}": is_depth(self.patience),
            "no `patience`": "patience" in has or self.patience == 1,
            "a positive `threshold`": "threshold" not in has
            or (is_number(self.threshold) and self.threshold > 0),
            "no `threshold`": "threshold" in has or self.threshold is None,
            f"`temperatures` of none, or {num_layers} depths": not self.temperatures
            or len(self.temperatures) == num_layers,
        }
        for requirement, holds in required.items():
            if not holds:
                raise ValueError(
                    f"The exit rule {self.name} must have {requirement}. Received: "
                    f"{self}, num_classes={num_classes}."
                )

    def count(self, logits, previous, counts, depth, xp=np):
        """Returns at how many depths in a row the criterion holds, `(batch,)`.

        Args:
            logits, previous: Logits of this depth and of the previous one, `(batch,
                num_classes)`.
            counts: Integers `(batch,)`. Result for the previous depth.
            depth: Integer from 1.
            xp: `numpy` or `keras.ops`.
        """
        criterion = RULES[self.name]
        if self.temperatures:
            temperatures = np.array(self.temperatures, np.float32)
            logits = logits / xp.take(temperatures, depth - 1)
        holds = criterion.holds(logits, previous, self.threshold, xp)
        if criterion.compares:
            holds = xp.logical_and(holds, depth > 1)
        return xp.where(holds, counts + 1, 0)

    def is_done(self, counts, depth, xp=np):
        """Returns whether rows exit after a depth, from the result of `count`."""
        return xp.logical_and(counts >= self.patience, depth >= self.min_depth)

    def to_dict(self):
        """Returns the fields as a JSON-ready dict, the inverse of `from_dict`."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, content):
        """Returns the rule of `to_dict`, such as `exit_rule` of a calibrated model."""
        return cls(**content)


def simulate_exits(rule, logits):
    """Returns the depths after which rows exit, from the logits of all depths.

    Args:
        rule: `ExitRule`.
        logits: float array `(num_rows, num_layers, num_classes)`.

    Returns:
        Integers `(num_rows,)`, from 1.
    """
    num_rows, num_layers, _ = logits.shape
    exits = np.full(num_rows, num_layers)
    counts = np.zeros(num_rows, int)
    previous = logits[:, 0]
    for depth in range(1, num_layers):
        now = logits[:, depth - 1]
        counts = rule.count(now, previous, counts, depth)
        is_first = (exits == num_layers) & rule.is_done(counts, depth)
        exits[is_first] = depth
        previous = now
    return exits


def logits_at(logits, depths):
    """Returns the logits `(num_rows, num_classes)` at each row's depth, from 1."""
    return logits[np.arange(len(logits)), depths - 1]
