"""Sentence pairs: content, rates and truncation."""

import math
from fractions import Fraction

import numpy as np
import pytest

from albert_keras.pretraining.pairs import half_binomial


@pytest.mark.parametrize("count", [1, 2, 53, 1_400])
def test_quantiles_of_the_binomial_distribution(count):
    ways = [math.comb(count, heads) for heads in range(count + 1)]
    thresholds = [
        float(Fraction(sum(ways[: heads + 1]), 2**count)) for heads in range(count)
    ]
    # Those that are apart in float64, and not at its ends.
    heads = [h for h in range(count) if 1e-9 < thresholds[h] < 1 - 1e-9]
    below = np.array([thresholds[h] * (1 - 1e-10) for h in heads])
    above = np.array([thresholds[h] * (1 + 1e-10) for h in heads])
    counts = np.full(len(heads), count)
    np.testing.assert_array_equal(half_binomial(counts, below), heads)
    np.testing.assert_array_equal(half_binomial(counts, above), np.add(heads, 1))
    ends = np.array([0.0, np.nextafter(1, 0)])
    least, most = half_binomial(np.full(2, count), ends)
    assert 0 <= least <= most <= count


def test_quantiles_of_very_long_sentences():
    counts = np.array([400_000] * 500 + [0] * 3)
    uniforms = np.random.default_rng(1).random(len(counts))
    heads = half_binomial(counts, uniforms)[:500]
    # Four standard errors of mean and deviation of 500 draws of Binomial(400000, 1/2).
    assert abs(heads.mean() - 200_000) < 4 * 316.2 / np.sqrt(500)
    assert abs(heads.std() / 316.2 - 1) < 4 / np.sqrt(2 * 500)
