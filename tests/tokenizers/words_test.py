"""Words, and the normalization of text."""

import unicodedata

import pytest

from albert_keras.tokenizers.normalization import preprocess_text
from albert_keras.tokenizers.words import (
    is_spelling,
    locate_words,
    spelling_of,
    whole_words,
)


@pytest.mark.parametrize(
    "words",
    [
        "( Acme Corp . ) in Berlin .",
        "Ann 's dog , O'Neill 's , didn't bark '",
        "' sun ' and dogs '",
        "$ 1,000.50 at 10:30 a.m. -- in the U.S. ... he said",
        "the U.S.-led AT&T and a mother-in-law , ann@example.com !",
        "e\u0301te\u0301 _x_ 한국은 1 % ( a / b )",
        "住 在 N Y 。 etc . さ く ら カ フ ェ",
    ],
)
def test_punctuation_is_apart_as_in_the_rows_of_conll(words):
    words = words.split()
    # With the spaces that a text has, and with all that may be left out.
    for text in (" ".join(words), "\t" + "\u3000 ".join(words) + "\n"):
        assert [text[start:end] for start, end in locate_words(text)] == words
    text = "(Acme Corp.) in Berlin."
    found = ["(", "Acme", "Corp", ".", ")", "in", "Berlin", "."]
    assert [text[start:end] for start, end in locate_words(text)] == found


def test_answers_end_between_words_where_a_script_has_them():
    assert all(map(is_spelling, "aéЖש1_\u0301"))
    assert not any(map(is_spelling, " -.'北か한ไ"))
    text = "Ann's well-known dog"
    places = [(1, 2), (4, 7), (11, 14), (18, 19), (3, 10)]
    expected = ["Ann", "s well", "known", "dog", "'s well"]
    places = [whole_words(spelling_of(text), *place) for place in places]
    assert [text[start:end] for start, end in places] == expected


# === Google's text preprocessing ===


def google_preprocess_text(text):
    """The steps of google-research/albert `tokenization.py`, one by one."""
    text = " ".join(text.strip().split())
    text = unicodedata.normalize("NFKD", text)
    text = "".join(c for c in text if not unicodedata.combining(c))
    return text.lower()


def test_equals_google(corpus_lines, stress_texts):
    for text in corpus_lines + stress_texts:
        assert preprocess_text(text) == google_preprocess_text(text)
