"""Sentence pairs: content, rates and truncation."""

import math
from fractions import Fraction

import numpy as np
import pytest

from albert_keras.pretraining.examples import PretrainingDataConfig
from albert_keras.pretraining.pairs import (
    PairCutter,
    SentencePairs,
    draw_pairs,
    half_binomial,
    truncate_pairs,
)
from tests.pretraining.random_documents import as_ranges, in_order, number_tokens


def cut(documents, seed=0, **options):
    """Returns the pairs of documents and the number of skipped chunks."""
    max_tokens = options.pop("max_tokens", 509)
    objective = options.pop("objective", "sop")
    num_special = 2 if objective == "none" else 3
    config = PretrainingDataConfig(
        max_tokens + num_special, sentence_pairs=objective, **options
    )
    rng = np.random.default_rng(seed)
    draws = draw_pairs(rng, documents.num_documents, documents.num_sentences)
    return PairCutter(documents, draws, config).cut()


def test_the_split_is_uniform_over_sentences():
    documents = number_tokens([[5, 6, 7, 8]] * 1_500)
    pairs, _ = cut(documents, short_sequence_prob=0.0)
    lengths = [len(in_order(pair)[0]) for pair in as_ranges(pairs)]
    found, splits = np.unique(lengths, return_counts=True)
    np.testing.assert_array_equal(found, [5, 11, 18])
    # Four standard errors of a share of 1/3 in 1,500 draws.
    np.testing.assert_allclose(splits / 1_500, 1 / 3, atol=0.049)


def test_negatives_come_from_anywhere_in_the_other_documents():
    lengths = [[2] * 30, [3] * 5, [4] * 11]
    documents = number_tokens(lengths)
    found = np.zeros(documents.num_sentences, int)
    for seed in range(700):
        pairs, _ = cut(
            documents, seed, objective="nsp", max_tokens=7, short_sequence_prob=0.0
        )
        begins = pairs.second_start[(pairs.label == 1) & (pairs.first_start < 60)]
        found += np.bincount(
            np.searchsorted(documents.sentence_offsets, begins, side="right") - 1,
            minlength=documents.num_sentences,
        )
    # Each of the other documents as often, and each of its sentences.
    shares = found[30:] / found.sum()
    assert found[:30].sum() == 0
    expected = np.repeat([1 / 2 / 5, 1 / 2 / 11], [5, 11])
    error = np.sqrt(expected / found.sum())
    assert (np.abs(shares - expected) < 4 * error).all(), shares


def test_truncation_equals_one_token_at_a_time():
    first, second = np.mgrid[1:16, 0:17].reshape(2, -1)
    zeros = np.zeros_like(first)
    pairs = SentencePairs(zeros, first, zeros + 500, second, *[zeros] * 3)
    draws = draw_pairs(np.random.default_rng(0), 0, len(first)), slice(None)
    for max_tokens in (7, 10):
        kept = truncate_pairs(pairs, max_tokens, *draws)
        for row, lengths in enumerate(np.stack([first, second], axis=1).tolist()):
            while sum(lengths) > max_tokens:
                lengths[0 if lengths[0] > lengths[1] else 1] -= 1
            assert [kept.first_length[row], kept.second_length[row]] == lengths
        assert (kept.first_start + kept.first_length <= first).all()
        assert (kept.second_start + kept.second_length <= 500 + second).all()
    # A limit for each pair.
    limits = np.arange(2, 2 + len(first))
    kept = truncate_pairs(pairs, limits, *draws)
    np.testing.assert_array_equal(kept.lengths, np.minimum(first + second, limits))


def test_truncation_takes_from_front_and_back():
    size = 2_000
    columns = (0, 30, 100, 20, 1, 0, 0)
    pairs = SentencePairs(*(np.full(size, column) for column in columns))
    draws = draw_pairs(np.random.default_rng(0), 0, size)
    kept = truncate_pairs(pairs, 26, draws, slice(None))
    starts = np.stack([kept.first_start, kept.second_start - 100])
    # Binomial(17, 1/2) and Binomial(7, 1/2): mean and variance, 4 standard errors.
    np.testing.assert_allclose(starts.mean(axis=1), [8.5, 3.5], atol=0.19)
    np.testing.assert_allclose(starts.var(axis=1), [4.25, 1.75], atol=0.54)


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
