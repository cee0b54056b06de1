"""Index arithmetic on ragged arrays: rows of different lengths, stored end to end."""

import numpy as np


def offsets_of(lengths):
    """Returns where rows that are stored end to end begin, and where the last one ends.

    Args:
        lengths: int, `(num_rows,)`.

    Returns:
        int64, `(num_rows + 1,)`.

    Example:

    >>> offsets_of([2, 3]).tolist()
    [0, 2, 5]
    """
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


def ragged_positions(starts, lengths):
    """Returns the positions of all elements of rows, row after row.

    Args:
        starts: int, `(num_rows,)`. Position of the first element of each row.
        lengths: int, `(num_rows,)`.

    Returns:
        int64, `(sum of lengths,)`.

    Example:

    >>> ragged_positions(np.array([5, 9]), np.array([2, 3])).tolist()
    [5, 6, 9, 10, 11]
    """
    ends = np.cumsum(lengths)
    shifts = np.repeat(starts - (ends - lengths), lengths)
    return shifts + np.arange(len(shifts))
