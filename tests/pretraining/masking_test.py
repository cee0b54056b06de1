"""Masking: equality with plain rules, and properties of every strategy."""

import numpy as np
import pytest

from albert_keras.pretraining.examples import PretrainingDataConfig
from albert_keras.pretraining.masking import (
    MASKING,
    MaskingDraws,
    count_predictions,
    derive_max_predictions,
    draw_masking,
    gather_predictions,
    replace_selected,
    select_ngrams,
)
from tests import plain_pretraining_data as plain

SEQUENCE_LENGTH = 131
BATCH = 57


def draw_batch(seed, masked_rate):
    """Draws words between special tokens: [CLS] at 0, two [SEP], padding.

    Returns:
        The first arguments of `select_ngrams`.
    """
    rng = np.random.default_rng(seed)
    columns = np.arange(SEQUENCE_LENGTH)
    lengths = rng.integers(5, SEQUENCE_LENGTH + 1, size=(BATCH, 1))
    separator = rng.integers(2, lengths - 2)
    maskable = (columns > 0) & (columns < lengths - 1) & (columns != separator)
    word_starts = rng.random(maskable.shape) < 0.6
    budgets = count_predictions(lengths[:, 0], masked_rate, 119)
    return word_starts, maskable, budgets, draw_masking(rng, *maskable.shape, 119)


@pytest.fixture(scope="module", params=[(0, 0.15), (1, 0.15), (2, 0.9)])
def batch(request):
    return draw_batch(*request.param)


def take(draws, rows):
    return MaskingDraws(*(draw[rows] for draw in draws))


def select_plainly(batch, config):
    """Selects by the plain rules, from pieces with the same word starts."""
    word_starts, maskable, budgets, draws = batch
    pieces = np.where(maskable, np.where(word_starts, "▁a", "b"), "[SEP]").tolist()
    selected = np.zeros_like(maskable)
    for row, budget in enumerate(budgets.tolist()):
        draw = {name: v.tolist() for name, v in take(draws, row)._asdict().items()}
        positions = plain.select(pieces[row], budget, draw, config)
        selected[row, list(positions)] = True
    return selected


@pytest.mark.parametrize(
    ("name", "max_ngram", "favor_shorter"),
    [
        ("token", 3, True),
        ("whole_word", 3, True),
        ("ngram", 1, True),
        ("ngram", 3, True),
        ("ngram", 4, False),
        ("ngram", 9, True),
    ],
)
def test_equal_to_the_plain_rules(batch, name, max_ngram, favor_shorter):
    options = {"max_ngram": max_ngram, "favor_shorter": favor_shorter}
    config = PretrainingDataConfig(masking=name, **options)
    word_starts, maskable, _, _ = batch
    selected, run_counts = MASKING[name](*batch, **options)
    np.testing.assert_array_equal(selected, select_plainly(batch, config))
    # Each run of n words counts once.
    is_word = maskable & (word_starts | ~np.roll(maskable, 1, axis=1))
    is_word |= maskable & (name == "token")
    num_words = np.count_nonzero(selected & is_word)
    assert run_counts @ np.arange(1, len(run_counts) + 1) == num_words


def test_examples_do_not_depend_on_their_batch(batch):
    selected, _ = select_ngrams(*batch, max_ngram=3)
    word_starts, maskable, budgets, draws = batch
    few = slice(11, 13)
    alone, _ = select_ngrams(
        word_starts[few],
        maskable[few],
        budgets[few],
        take(draws, few),
        max_ngram=3,
    )
    np.testing.assert_array_equal(alone, selected[few])


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
    _, run_counts = select_ngrams(
        every_word,
        maskable,
        [300] * 47,
        draws,
        max_ngram=3,
        favor_shorter=favor_shorter,
    )
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


def test_predictions_are_listed_in_order():
    token_ids = np.arange(20, 32, dtype=np.int32).reshape(2, 6)
    selected = np.zeros((2, 6), bool)
    selected[0, [1, 4, 5]] = True
    listed = gather_predictions(token_ids, selected, 4)
    np.testing.assert_array_equal(listed["mask_positions"], [[1, 4, 5, 0], [0] * 4])
    np.testing.assert_array_equal(listed["mask_ids"], [[21, 24, 25, 0], [0] * 4])
    np.testing.assert_array_equal(listed["mask_weights"], [[1, 1, 1, 0], [0] * 4])
    assert listed["mask_weights"].dtype == np.float32


def test_budgets():
    lengths = [3, 20, 100, 512]
    np.testing.assert_array_equal(count_predictions(lengths, 0.15, 77), [1, 3, 15, 77])
    np.testing.assert_array_equal(count_predictions(lengths, 0.15, 20), [1, 3, 15, 20])
    for sequence_length in range(5, 600):
        room = derive_max_predictions(sequence_length, 0.15)
        assert count_predictions(sequence_length, 0.15, 10**6) == room
