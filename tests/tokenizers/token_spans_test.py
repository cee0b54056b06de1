"""Spans by counting: characters of each kind, and texts of which nothing is sure."""

import numpy as np
import pytest

from albert_keras.tokenizers import token_spans
from albert_keras.tokenizers.token_spans import THE_REST, SpanFinder

KINDS = {
    " ": (token_spans.SPACE, 0),
    "a": (token_spans.JOINED, 1),
    "b": (token_spans.JOINED, 1),
    "½": (token_spans.JOINED, 3),
    "好": (token_spans.ALONE, 1),
    "\u0301": (token_spans.DROPPED, 0),
    "?": (token_spans.UNCERTAIN, 0),
}

# A vocabulary: tokens and their lengths, those with a marker at the beginning of a word.
TOKENS = {
    "▁": 0,
    "▁a": 1,
    "▁ab": 2,
    "b": 1,
    "bb": 2,
    "rest": THE_REST,
    "▁rest": THE_REST,
}


@pytest.fixture(scope="module")
def finder():
    lengths = np.array(list(TOKENS.values()))
    begins_word = np.array([token.startswith("▁") for token in TOKENS])
    return SpanFinder(KINDS.__getitem__, lengths, begins_word, exceptions=("aaaa",))


def find(finder, *rows):
    """Finds the spans of texts with their tokens, None where they are not sure."""
    names = list(TOKENS)
    texts = [text for text, _ in rows]
    ids = [[names.index(token) for token in tokens.split()] for _, tokens in rows]
    num_tokens = np.array([len(row) for row in ids])
    spans, is_sure = finder.find(texts, np.concatenate(ids).astype(int), num_tokens)
    assert spans.dtype == np.int32
    spans = np.split(spans, np.cumsum(num_tokens)[:-1])
    return [
        list(map(tuple, of_text.tolist())) if sure else None
        for of_text, sure in zip(spans, is_sure, strict=True)
    ]


@pytest.mark.parametrize(
    ("text", "tokens", "spans"),
    [
        ("ab  abb", "▁ab ▁a bb", [(0, 2), (4, 5), (5, 7)]),
        (" a ", "▁a", [(1, 2)]),
        ("½", "▁a b b", [(0, 1), (0, 1), (0, 1)]),
        ("½b", "▁a bb b", [(0, 1), (0, 1), (1, 2)]),
        ("a½", "▁ab bb", [(0, 2), (1, 2)]),
        ("a\u0301\u0301b", "▁a b", [(0, 3), (3, 4)]),
        ("a b\u0301", "▁a ▁a", [(0, 1), (2, 4)]),
        ("a bb", "▁a ▁ bb", [(0, 1), (2, 2), (2, 4)]),
        ("abbba a", "▁a rest b ▁a", [(0, 1), (1, 4), (4, 5), (6, 7)]),
        ("a好b", "▁a ▁rest ▁a", [(0, 1), (1, 2), (2, 3)]),
        ("好好", "▁rest ▁a", [(0, 1), (1, 2)]),
        ("", "", []),
        ("  ", "", []),
    ],
)
def test_golden_spans(finder, text, tokens, spans):
    assert find(finder, (text, tokens)) == [spans]
    # Neighbours change nothing, neither found ones nor others.
    others = [("bab", "▁ab b"), ("", ""), ("a?", "▁a b")]
    expected = [[(0, 2), (2, 3)], [], None]
    rows = [*others, (text, tokens), *others]
    assert find(finder, *rows) == [*expected, spans, *expected]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("a?", "▁ab"),
        ("ab", "▁a"),
        ("ab", "▁a bb"),
        ("ab a", "▁ab b"),
        ("ab", "b ▁a"),
        ("aabb", "▁a rest rest b"),
        ("abb", "▁ab b rest"),
        ("", "▁a"),
        ("a", ""),
        ("\u0301a", "▁a"),
        ("a \u0301b", "▁a ▁a"),
        ("½\u0301", "▁a bb"),
        ("aaaa", "▁ab bb"),
    ],
)
def test_unsure_texts(finder, text, tokens):
    assert find(finder, (text, tokens)) == [None]
    rows = [("ab", "▁ab"), (text, tokens), ("ba", "▁a b")]
    assert find(finder, *rows) == [[(0, 2)], None, [(0, 1), (1, 2)]]
