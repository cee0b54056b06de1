"""Offsets and positions of ragged rows, with empty rows and without rows."""

import numpy as np

from albert_keras.tokenizers.ragged import offsets_of, ragged_positions


def test_positions_of_rows():
    starts, lengths = np.array([9, 2, 2, 50]), np.array([3, 0, 2, 1])
    assert ragged_positions(starts, lengths).tolist() == [9, 10, 11, 2, 3, 50]
    assert ragged_positions(starts[:0], lengths[:0]).tolist() == []


def test_offsets_of_rows():
    offsets = offsets_of([3, 0, 4])
    assert offsets.tolist() == [0, 3, 3, 7]
    assert offsets.dtype == offsets_of([]).dtype == np.int64
    assert offsets_of([]).tolist() == [0]
