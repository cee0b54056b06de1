"""Masking: ties, rates, and the ends of the draws; `parity_test.py` has the rules."""

import numpy as np
import pytest

from albert_keras.pretraining.masking import (
    MaskingDraws,
    draw_masking,
    replace_selected,
    select_ngrams,
)


def test_equal_draws_are_tried_from_left_to_right():
    maskable = np.ones((3, 29), bool)
    maskable[:, 0] = False
    drawn = draw_masking(np.random.default_rng(0), 3, 29, 7)
    for rank in (0, 2**16 - 2):
        equal = drawn._replace(
            order=np.full_like(drawn.order, rank), size=np.zeros_like(drawn.size)
        )
        selected, _ = select_ngrams(
            np.ones_like(maskable), maskable, [5, 2, 7], equal, max_ngram=3
        )
        for row, budget in zip(selected, [5, 2, 7], strict=True):
            np.testing.assert_array_equal(np.flatnonzero(row), np.arange(1, budget + 1))


@pytest.mark.parametrize(
    ("favor_shorter", "shares"), [(True, [6, 3, 2]), (False, [2, 3, 6])]
)
def test_sizes_have_probability_one_over_n(favor_shorter, shares):
    # So few of the words are masked that runs hardly meet, and 1 in 100 is cut short.
    maskable = np.ones((47, 20_001), bool)
    maskable[:, 0] = False
    draws = draw_masking(np.random.default_rng(1), *maskable.shape, 300)
    every_word = np.ones_like(maskable)
    selected, run_counts = select_ngrams(
        every_word,
        maskable,
        [300] * 47,
        draws,
        max_ngram=3,
        favor_shorter=favor_shorter,
    )
    # Each n-gram of n words counts once.
    assert run_counts @ [1, 2, 3] == np.count_nonzero(selected)
    # Four standard errors of a share of 1/2 in 6,000 draws, and shortened n-grams.
    assert run_counts.sum() > 6_000
    expected = np.array(shares) / 11
    np.testing.assert_allclose(run_counts / run_counts.sum(), expected, atol=0.036)


def test_rates_of_replacements():
    rng = np.random.default_rng(2)
    token_ids = rng.integers(10, 30_000, size=(103, 512)).astype(np.int32)
    selected = rng.random(token_ids.shape) < 0.9
    visible = replace_selected(
        token_ids,
        selected,
        draw_masking(rng, *token_ids.shape, 512),
        4,
        np.arange(5, 10),
    )
    np.testing.assert_array_equal(visible[~selected], token_ids[~selected])
    hidden, original = visible[selected], token_ids[selected]
    shares = [
        np.mean(hidden == 4),
        np.mean(hidden == original),
        np.mean((hidden >= 5) & (hidden < 10)),
    ]
    # 47,000 tokens: four standard errors of a share of 0.8.
    np.testing.assert_allclose(shares, [0.8, 0.1, 0.1], atol=0.0075)
    drawn = np.bincount(hidden[(hidden >= 5) & (hidden < 10)])[5:]
    np.testing.assert_allclose(drawn / drawn.sum(), 0.2, atol=0.024)


def test_the_largest_draw_stays_within_the_replacements():
    ones = np.full((1, 3), np.float32(1) - np.finfo(np.float32).epsneg)
    token_ids = np.array([[6, 7, 8]], np.int32)
    visible = replace_selected(
        token_ids,
        np.array([[False, True, False]]),
        MaskingDraws(ones, ones, ones, ones),
        4,
        np.arange(2**25, dtype=np.int32),
    )
    assert visible[0, 1] >= 2**25 - 3


def test_draws():
    order, size, action, replacement = draw_masking(np.random.default_rng(0), 97, 31, 7)
    assert (order.shape, size.shape) == ((97, 31), (97, 31))
    assert (action.shape, replacement.shape) == ((97, 7), (97, 7))
    # The largest 16-bit number means no word.
    assert (order.dtype, order.max() < 2**16 - 1) == (np.uint16, True)
    for uniforms in (size, action, replacement):
        assert 0 <= uniforms.min() <= uniforms.max() < 1
        assert abs(uniforms.mean() - 0.5) < 4 * np.sqrt(1 / 12 / uniforms.size)
