"""What `encode_ragged` must give."""

import itertools

import numpy as np


def assert_ragged_equals_batch(encoder, texts):
    """Checks that `encode_ragged` gives exactly what `encode_batch` does."""
    token_ids, offsets = encoder.encode_ragged(texts)
    assert token_ids.dtype == np.int32
    assert offsets.dtype == np.int64
    rows = encoder.encode_batch(texts)
    ends = np.cumsum([0, *map(len, rows)])
    together = np.array([*itertools.chain(*rows)], int)
    if np.array_equal(offsets, ends) and np.array_equal(token_ids, together):
        return
    ours = [token_ids[a:b].tolist() for a, b in itertools.pairwise(offsets)]
    compared = zip(texts, ours, rows, strict=True)
    different = [text[:99] for text, our, row in compared if our != list(row)]
    raise AssertionError(f"{len(different)} texts differ, as {different[:3]}")
