"""Masking: ties, rates, and the ends of the draws; `parity_test.py` has the rules."""

import numpy as np

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
