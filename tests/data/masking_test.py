"""Masking against a plain statement of its rules, and the properties it promises."""

import numpy as np
import pytest

from albert_keras.data.masking import (
    MASKING,
    MaskingDraws,
    count_predictions,
    derive_max_predictions,
    draw_masking,
    gather_predictions,
    replace_selected,
    select_ngrams,
)

SEQUENCE_LENGTH = 131
BATCH = 57


@pytest.fixture(scope="module", params=[0, 1, 2])
def batch(request):
    """Random words between special tokens: [CLS] at 0, two [SEP], padding."""
    rng = np.random.default_rng(request.param)
    columns = np.arange(SEQUENCE_LENGTH)
    lengths = rng.integers(5, SEQUENCE_LENGTH + 1, size=(BATCH, 1))
    separator = rng.integers(2, lengths - 2)
    maskable = (columns > 0) & (columns < lengths - 1) & (columns != separator)
    word_starts = rng.random(maskable.shape) < 0.6
    budgets = count_predictions(lengths[:, 0], 0.15, 17)
    return word_starts, maskable, budgets, draw_masking(rng, *maskable.shape)


def select_plainly(word_starts, maskable, budget, draws, max_ngram, favor_shorter):
    """The rules of one example, stated one token and one word at a time."""
    words = []
    for position in np.flatnonzero(maskable):
        if word_starts[position] or not maskable[position - 1]:
            words.append([])
        words[-1].append(position)
    weights = [1 / size for size in range(1, max_ngram + 1)]
    weights = weights if favor_shorter else weights[::-1]
    selected, run_counts = set(), [0] * max_ngram
    for index in sorted(range(len(words)), key=lambda i: draws.order[words[i][0]]):
        if len(selected) >= budget:
            break
        drawn, size = draws.size[words[index][0]] * sum(weights), 1
        while drawn >= sum(weights[:size]):
            size += 1
        run = [words[index]]
        for word in words[index + 1 : index + size]:
            if word[0] != run[-1][-1] + 1:
                break
            run.append(word)
        while run and len(selected) + sum(map(len, run)) > budget:
            run.pop()
        tokens = {position for word in run for position in word}
        if run and not tokens & selected:
            selected |= tokens
            run_counts[len(run) - 1] += 1
    return selected, run_counts


@pytest.mark.parametrize(
    ("max_ngram", "favor_shorter"), [(3, True), (4, False), (1, True)]
)
def test_equal_to_the_plain_rules(batch, max_ngram, favor_shorter):
    word_starts, maskable, budgets, draws = batch
    options = {"max_ngram": max_ngram, "favor_shorter": favor_shorter}
    selected, run_counts = select_ngrams(*batch, **options)
    expected_counts = np.zeros(max_ngram, int)
    for row in range(BATCH):
        expected, counts = select_plainly(
            word_starts[row],
            maskable[row],
            budgets[row],
            MaskingDraws(*(draw[row] for draw in draws)),
            **options,
        )
        assert set(np.flatnonzero(selected[row])) == expected
        expected_counts += counts
    np.testing.assert_array_equal(run_counts, expected_counts)


@pytest.mark.parametrize("name", MASKING)
def test_what_every_strategy_promises(batch, name):
    word_starts, maskable, budgets, _ = batch
    options = {"max_ngram": 3, "favor_shorter": True}
    selected, run_counts = MASKING[name](*batch, **options)
    assert not (selected & ~maskable).any()
    assert (selected.sum(axis=1) <= budgets).all()
    if name == "token":
        available = maskable.sum(axis=1)
        np.testing.assert_array_equal(
            selected.sum(axis=1), np.minimum(budgets, available)
        )
    else:
        continues = maskable[:, 1:] & maskable[:, :-1] & ~word_starts[:, 1:]
        assert (selected[:, 1:] == selected[:, :-1])[continues].all()
    if name != "ngram":
        assert len(run_counts) == 1
    again, _ = MASKING[name](*batch, **options)
    np.testing.assert_array_equal(again, selected)


def test_an_example_does_not_depend_on_its_batch(batch):
    selected, _ = select_ngrams(*batch)
    word_starts, maskable, budgets, draws = batch
    few = slice(11, 13)
    alone, _ = select_ngrams(
        word_starts[few],
        maskable[few],
        budgets[few],
        MaskingDraws(*(draw[few] for draw in draws)),
    )
    np.testing.assert_array_equal(alone, selected[few])


def test_equal_draws_are_tried_from_left_to_right():
    maskable = np.ones((3, 29), bool)
    maskable[:, 0] = False
    equal = MaskingDraws(*np.zeros((4, 3, 29), np.float32))
    selected, _ = select_ngrams(np.ones_like(maskable), maskable, [5, 2, 7], equal)
    for row, budget in zip(selected, [5, 2, 7], strict=True):
        np.testing.assert_array_equal(np.flatnonzero(row), np.arange(1, budget + 1))


def test_no_run_crosses_a_separator():
    # One word of continuation pieces on each side: the separator ends the word.
    maskable = np.array([[False, True, True, False, True, True, False]] * 199)
    word_starts = np.array([[True, True, False, True, False, False, True]] * 199)
    draws = draw_masking(np.random.default_rng(0), *maskable.shape)
    selected, run_counts = select_ngrams(word_starts, maskable, [2] * 199, draws)
    both = {tuple(np.flatnonzero(row)) for row in selected}
    assert both == {(1, 2), (4, 5)}
    np.testing.assert_array_equal(run_counts, [199, 0, 0])


@pytest.mark.parametrize(
    ("favor_shorter", "shares"), [(True, [6, 3, 2]), (False, [2, 3, 6])]
)
def test_sizes_are_drawn_with_one_over_n(favor_shorter, shares):
    # So few of the words are masked that runs hardly meet, and 1 in 100 is cut short.
    maskable = np.ones((47, 20_001), bool)
    maskable[:, 0] = False
    draws = draw_masking(np.random.default_rng(1), *maskable.shape)
    every_word = np.ones_like(maskable)
    _, run_counts = select_ngrams(
        every_word, maskable, [300] * 47, draws, favor_shorter=favor_shorter
    )
    # Four standard errors of a share of one half in 6,000 draws, and the runs cut.
    assert run_counts.sum() > 6_000
    expected = np.array(shares) / 11
    np.testing.assert_allclose(run_counts / run_counts.sum(), expected, atol=0.036)


def test_what_stands_in_place_of_selected_tokens():
    rng = np.random.default_rng(2)
    token_ids = rng.integers(10, 30_000, size=(103, 512)).astype(np.int32)
    selected = rng.random(token_ids.shape) < 0.9
    visible = replace_selected(
        token_ids,
        selected,
        draw_masking(rng, *token_ids.shape),
        mask_token_id=4,
        replacement_ids=np.arange(5, 10),
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
        mask_token_id=4,
        replacement_ids=np.arange(2**25),
    )
    assert visible[0, 1] >= 2**25 - 3


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
