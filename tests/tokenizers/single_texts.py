"""Check of `encode_ragged` against single texts."""

import itertools

import numpy as np


def assert_ragged_equals_single_texts(encoder, texts):
    """Checks the ids of many texts against `tokenize_with_offsets` of each text."""
    token_ids, offsets = encoder.encode_ragged(texts)
    assert token_ids.dtype == np.int32
    assert offsets.dtype == np.int64
    assert (offsets[0], offsets[-1]) == (0, len(token_ids))
    rows = [token_ids[a:b].tolist() for a, b in itertools.pairwise(offsets)]
    pairs = zip(texts, rows, strict=True)
    different = [
        t[:99] for t, row in pairs if row != encoder.tokenize_with_offsets(t)[0]
    ]
    assert not different
