"""Calibration of exit rules: the fastest rule that changes few answers."""

import dataclasses
from typing import NamedTuple

import numpy as np

from albert_keras.compression.early_exit import (
    ExitRule,
    logits_at,
    max_probability,
    simulate_exits,
)

NUM_THRESHOLDS = 101
# Largest `min_depth` to try. The first layers may agree by chance.
MAX_MIN_DEPTH = 4
# Tolerance for regression, in standard deviations of its outputs.
TOLERANCE = 0.1
# Temperatures beyond these make no difference.
_LOG_TEMPERATURES = (-2.0, 3.0)


class Measured(NamedTuple):
    """A rule measured on held-out rows.

    Attributes:
        rule: `ExitRule`.
        mean_depth: float. Mean number of layers of a row.
        num_changed: int. Rows whose answer differs from full depth's.
        bound: float. Upper bound of the share of such rows.
        static_share: float. Share of such rows if the model is cut at fixed depths with
            the same mean.
    """

    rule: ExitRule
    mean_depth: float
    num_changed: int
    bound: float
    static_share: float


@dataclasses.dataclass(frozen=True)
class Calibration:
    """The result of `calibrate`.

    Attributes:
        chosen: `Measured`, the fastest rule within the budget.
        fastest: Dict of `Measured` by the rule's name: the fastest of each kind within
            the budget.
        static_shares: float array `(num_layers,)`. Shares of changed answers of the
            model cut after each layer.
        num_rows: int. Held-out rows.
    """

    chosen: Measured
    fastest: dict
    static_shares: np.ndarray
    num_rows: int

    def beats_static_cut(self, measured):
        """Returns whether a rule changes fewer answers than a cut at fixed depths."""
        share = measured.num_changed / self.num_rows
        return measured.rule.name != "fixed_depth" and share < measured.static_share


def calibrate(logits, *, max_changed=0.01, confidence=0.95, tolerance=None):
    """Chooses the fastest exit rule that keeps the answers of full depth.

    It tries the rules of each kind in a fixed order, from safe to fast, while the upper
    bound of the share of changed answers is within the budget. The bound is Clopper and
    Pearson's, which is exact for a single rule. The choice of the fastest of several
    rules makes it slightly optimistic: measure the chosen rule on other rows. No labels
    are needed.

    Args:
        logits: float array `(num_rows, num_layers, num_classes)` of rows that the model
            was not trained on, from `AlbertEarlyExitClassifier.exit_logits`.
        max_changed: float in (0, 1). Budget: the largest share of rows whose answer
            differs from full depth's.
        confidence: float in (0, 1). Confidence of the upper bound, one-sided.
        tolerance: float. Largest difference from full depth at which an answer of
            regression counts as the same. Default: a tenth of the standard deviation of
            the answers.

    Returns:
        `Calibration`. If no other rule is within the budget, its rule is full depth.

    Raises:
        ValueError: If there are too few rows for any rule to be within the budget.

    Reference: Angelopoulos et al. 2021, Learn then test, arXiv 2110.01052, section 3.3;
    Schuster et al. 2022, CALM, arXiv 2207.07061, section 3.3.
    """
    num_rows, num_layers, _ = logits.shape
    needed = int(np.ceil(np.log(1 - confidence) / np.log(1 - max_changed)))
    if num_rows < needed:
        raise ValueError(
            f"A budget of {max_changed:g} at a confidence of {confidence:g} needs at "
            f"least {needed} rows. Received: {num_rows}. Use more, or a larger budget."
        )
    depths = np.arange(1, num_layers + 1)
    # (num_layers,)
    static_shares = np.array(
        [changed_answers(logits, depth, tolerance).mean() for depth in depths]
    )

    def measure(rule):
        exits = simulate_exits(rule, logits)
        mean_depth = float(exits.mean())
        num_changed = int(changed_answers(logits, exits, tolerance).sum())
        static_share = np.interp(mean_depth, depths, static_shares)
        bound = upper_bound(num_changed, num_rows, confidence)
        return Measured(rule, mean_depth, num_changed, bound, float(static_share))

    # Full depth changes no answer.
    full_depth = ExitRule("fixed_depth", min_depth=num_layers)
    fastest = {"fixed_depth": measure(full_depth)._replace(bound=0.0)}
    for chain in rule_chains(logits):
        for rule in chain:
            measured = measure(rule)
            if measured.bound > max_changed:
                break
            best = fastest.setdefault(rule.name, measured)
            if measured.mean_depth < best.mean_depth:
                fastest[rule.name] = measured
    chosen = min(fastest.values(), key=lambda measured: measured.mean_depth)
    return Calibration(chosen, fastest, static_shares, num_rows)


def rule_chains(logits):
    """Returns lists of rules, each from safe to fast, that fit cached logits."""
    _, num_layers, num_classes = logits.shape
    patience = range(num_layers - 1, 0, -1)
    chains = [[ExitRule("fixed_depth", min_depth=depth) for depth in patience]]
    if num_classes == 1:
        changes = np.abs(np.diff(logits[..., 0], axis=1))
        thresholds = _quantiles(changes)
        return chains + [
            [ExitRule("difference", threshold=t, patience=k) for t in thresholds if t]
            for k in patience
        ]
    temperatures = fit_temperatures(logits)
    scaled = logits / np.array(temperatures)[:, None]
    thresholds = _quantiles(max_probability(scaled[:, :-1], np))[::-1]
    # In float32 the largest probabilities are 1.
    thresholds = [threshold for threshold in thresholds if threshold < 1]
    options = [{"threshold": t, "temperatures": temperatures} for t in thresholds]
    for depth in range(1, min(MAX_MIN_DEPTH, num_layers) + 1):
        chains += [
            [ExitRule("patience", patience=k, min_depth=depth) for k in patience],
            [ExitRule("confidence", min_depth=depth, **o) for o in options],
        ]
    return chains + [
        [ExitRule("patient_confidence", patience=k, **o) for o in options]
        for k in range(2, num_layers)
    ]


def _quantiles(values):
    """Returns increasing thresholds that differ from the values, for rounding errors."""
    quantiles = np.quantile(values, np.linspace(0, 1, NUM_THRESHOLDS))
    return np.unique(np.ceil(quantiles * 1e5) / 1e5).tolist()


def changed_answers(logits, exits, tolerance=None):
    """Returns booleans `(num_rows,)`: whether an answer differs from full depth's.

    Args:
        logits, tolerance: As for `calibrate`.
        exits: Integers `(num_rows,)`, or a single integer. Depths from 1.
    """
    received = logits_at(logits, exits)
    full = logits[:, -1]
    if logits.shape[-1] > 1:
        return received.argmax(axis=-1) != full.argmax(axis=-1)
    if tolerance is None:
        tolerance = TOLERANCE * full.std()
    return np.abs(received - full)[:, 0] > tolerance


def upper_bound(num_changed, num_rows, confidence):
    """Returns the exact upper bound of a share, from `num_changed` of `num_rows`.

    Example:

    >>> round(upper_bound(3, 872, 0.95), 5)
    0.00887

    Reference: Clopper and Pearson 1934.
    """
    from scipy.stats import beta

    if num_changed == num_rows:
        return 1.0
    return float(beta.ppf(confidence, num_changed + 1, num_rows - num_changed))


def fit_temperatures(logits):
    """Returns a temperature for each exit, which fits its probabilities to full depth.

    The logits of a depth, divided by its temperature, have the least cross-entropy with
    the classes that full depth predicts. The last temperature is 1.

    Args:
        logits: As for `calibrate`.

    Returns:
        List of `num_layers` float.
    """
    from scipy.optimize import minimize_scalar
    from scipy.special import log_softmax

    targets = logits[:, -1].argmax(axis=-1)[:, None]

    def loss(log_temperature, exit_logits):
        log_probs = log_softmax(exit_logits / np.exp(log_temperature), axis=-1)
        return -np.take_along_axis(log_probs, targets, axis=-1).mean()

    found = [
        minimize_scalar(
            loss, bounds=_LOG_TEMPERATURES, args=(logits[:, exit],), method="bounded"
        ).x
        for exit in range(logits.shape[1] - 1)
    ]
    return [*(round(float(np.exp(x)), 3) for x in found), 1.0]
