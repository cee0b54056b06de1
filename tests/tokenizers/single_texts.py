"""Checks of `encode_ragged` and `encode_ragged_with_spans` against single texts."""

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


def assert_spans_equal_single_texts(encoder, texts):
    """Checks the spans of many texts against `tokenize_with_offsets` of each text."""
    token_ids, offsets, spans = encoder.encode_ragged_with_spans(texts)
    assert (token_ids.dtype, offsets.dtype, spans.dtype) == ("int32", "int64", "int32")
    assert spans.shape == (len(token_ids), 2)
    bounds = itertools.pairwise(offsets)
    for text, (start, end) in zip(texts, bounds, strict=True):
        ids, expected = encoder.tokenize_with_offsets(text)
        assert token_ids[start:end].tolist() == ids, text[:99]
        received = list(map(tuple, spans[start:end].tolist()))
        assert received == expected, text[:99]
