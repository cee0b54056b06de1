"""Calibration of exit rules, on logits whose best rule is known."""

import numpy as np
import pytest
from scipy.special import log_softmax
from scipy.stats import binom

from albert_keras.compression import ExitRule, calibrate, logits_at, simulate_exits
from albert_keras.compression.calibration import (
    changed_answers,
    fit_temperatures,
    upper_bound,
)

RANDOM = np.random.default_rng(3)
NUM_ROWS, NUM_LAYERS = 1511, 4


def easy_and_hard_rows():
    """Returns logits of which 70 % are final, and confident, after the first layer."""
    final = RANDOM.integers(0, 2, NUM_ROWS) * 2 - 1
    is_easy = RANDOM.random(NUM_ROWS) < 0.7
    margins = np.empty((NUM_ROWS, NUM_LAYERS))
    for depth in range(NUM_LAYERS):
        guess = RANDOM.integers(0, 2, NUM_ROWS) * 2 - 1
        hard = 0.3 * guess * RANDOM.random(NUM_ROWS)
        margins[:, depth] = np.where(is_easy, 4.0 * final, hard)
    margins[:, -1] = 4.0 * final
    return np.stack([margins, -margins], axis=-1).astype("float32"), is_easy


def test_easy_rows_leave_first_by_their_confidence():
    logits, is_easy = easy_and_hard_rows()
    result = calibrate(logits)
    rule = result.chosen.rule
    assert rule.name == "confidence"
    exits = simulate_exits(rule, logits)
    assert (exits[is_easy] == 1).all()
    changed = logits_at(logits, exits).argmax(-1) != logits[:, -1].argmax(-1)
    assert result.chosen.num_changed == changed.sum()
    assert result.chosen.mean_depth == exits.mean() < 2.0
    assert result.chosen.bound == upper_bound(changed.sum(), NUM_ROWS, 0.95) <= 0.01
    assert result.beats_static_cut(result.chosen)
    # No layer but the last has the answers of the hard rows.
    assert result.fastest["fixed_depth"].mean_depth == NUM_LAYERS
    assert result.static_shares[:-1] == pytest.approx(0.15, abs=0.03)


def test_the_static_cut_is_chosen_where_no_rule_beats_it():
    # From the second layer on all answers are final, and no confidence tells it.
    final, first = RANDOM.normal(size=(2, 400, 1, 3))
    logits = np.concatenate([first, final, final, final], axis=1)
    result = calibrate(logits)
    assert result.chosen.rule == ExitRule("fixed_depth", min_depth=2)
    assert not any(map(result.beats_static_cut, result.fastest.values()))


def test_numbers_leave_when_they_are_within_the_tolerance():
    final = RANDOM.normal(size=(NUM_ROWS, 1, 1))
    noise = RANDOM.normal(size=(NUM_ROWS, NUM_LAYERS, 1)) * [[[1], [0.01], [0.01], [0]]]
    result = calibrate(final + noise)
    assert result.chosen.rule == ExitRule("fixed_depth", min_depth=2)
    strict = calibrate(final + noise, tolerance=1e-6)
    assert strict.chosen.mean_depth > NUM_LAYERS - 0.01
    changed = changed_answers(final + noise, 1, tolerance=0.5)
    assert changed.mean() == pytest.approx(0.617, abs=0.05)


@pytest.mark.parametrize(("num_rows", "allowed"), [(872, 3), (2000, 12), (5463, 42)])
def test_the_bound_allows_as_many_changes_as_the_binomial_distribution(
    num_rows, allowed
):
    assert upper_bound(allowed, num_rows, 0.95) <= 0.01
    assert upper_bound(allowed + 1, num_rows, 0.95) > 0.01
    bound = upper_bound(allowed, num_rows, 0.95)
    assert binom.cdf(allowed, num_rows, bound) == pytest.approx(0.05)
    assert upper_bound(num_rows, num_rows, 0.95) == 1.0


def test_too_few_rows_are_refused():
    logits = np.zeros((298, 2, 2))
    with pytest.raises(ValueError, match="at least 299 rows. Received: 298"):
        calibrate(logits)
    assert calibrate(logits, max_changed=0.02).num_rows == 298


def test_temperatures_have_the_least_cross_entropy():
    logits, _ = easy_and_hard_rows()
    *temperatures, last = fit_temperatures(logits)
    assert last == 1.0
    targets = logits[:, -1].argmax(-1)

    def loss(temperature):
        log_probs = log_softmax(logits[:, 0] / temperature, axis=-1)
        return -log_probs[np.arange(NUM_ROWS), targets].mean()

    best = temperatures[0]
    assert loss(best) <= min(loss(1.1 * best), loss(0.9 * best), loss(1.0))
