"""Packing: layout, segments, padding, and what does not fit."""

import numpy as np
import pytest

from albert_keras.data.packing import pack_pairs

SPECIAL = {"cls_token_id": 2, "sep_token_id": 3, "pad_token_id": 9}


def test_pairs_and_single_segments():
    pairs = [([11, 12, 13], [14, 15], 1), ([16], [], 0), ([17], [18], 0)]
    packed = pack_pairs(pairs, sequence_length=8, **SPECIAL)
    np.testing.assert_array_equal(
        packed["token_ids"],
        [
            [2, 11, 12, 13, 3, 14, 15, 3],
            [2, 16, 3, 9, 9, 9, 9, 9],
            [2, 17, 3, 18, 3, 9, 9, 9],
        ],
    )
    np.testing.assert_array_equal(
        packed["segment_ids"],
        [[0, 0, 0, 0, 0, 1, 1, 1], [0] * 8, [0, 0, 0, 1, 1, 0, 0, 0]],
    )
    np.testing.assert_array_equal(
        packed["padding_mask"],
        [[1] * 8, [1, 1, 1, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 0, 0, 0]],
    )
    assert {array.dtype for array in packed.values()} == {np.dtype(np.int32)}


def test_no_pairs():
    packed = pack_pairs([], sequence_length=7, **SPECIAL)
    assert {array.shape for array in packed.values()} == {(0, 7)}


def test_a_pair_that_does_not_fit():
    pairs = [([11], [12]), ([13, 14], [15, 16])]
    with pytest.raises(ValueError, match="sequence_length=6, longest=7"):
        pack_pairs(pairs, sequence_length=6, **SPECIAL)
