"""What `encode_ragged` and `encode_ragged_with_spans` must give."""

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


def assert_spans_equal_offsets(encoder, texts):
    """Checks that spans of a batch are those of `tokenize_with_offsets`, text by text."""
    token_ids, offsets, spans = encoder.encode_ragged_with_spans(texts)
    assert (token_ids.dtype, offsets.dtype, spans.dtype) == ("int32", "int64", "int32")
    assert spans.shape == (len(token_ids), 2)
    bounds = itertools.pairwise(offsets)
    for text, (start, end) in zip(texts, bounds, strict=True):
        ids, expected = encoder.tokenize_with_offsets(text)
        assert token_ids[start:end].tolist() == ids, text[:99]
        received = list(map(tuple, spans[start:end].tolist()))
        assert received == expected, text[:99]
