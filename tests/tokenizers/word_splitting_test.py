"""Words as Google's `BasicTokenizer` finds them."""

import itertools
import sys
import unicodedata

import pytest

from albert_keras.tokenizers.word_splitting import WordRules, split_words
from tests.tokenizers.google_word_pieces import google_basic_tokens


@pytest.mark.parametrize("lowercase", [True, False])
def test_words_equal_google(corpus_lines, stress_texts, lowercase):
    # The reference goes character by character and takes its time over long lines.
    lines = [line for line in corpus_lines if len(line) < 600]
    for text in lines + stress_texts:
        expected = google_basic_tokens(text, lowercase)
        assert split_words(text, WordRules(lowercase, lowercase)) == expected


@pytest.mark.slow
@pytest.mark.parametrize("lowercase", [True, False])
def test_words_equal_google_on_every_character(lowercase):
    characters = [
        chr(code)
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)) not in ("Cs", "Cn", "Co")
    ]
    for start in range(0, len(characters), 200):
        text = "a".join(characters[start : start + 200])
        assert split_words(
            text, WordRules(lowercase, lowercase)
        ) == google_basic_tokens(text, lowercase)


def test_characters_that_depend_on_their_neighbours():
    # Combining characters that are no accents, and are sorted by their classes.
    kept = ["\u302e", "\U0001d165", "\U0001d16d", "\u1b44"]
    marks = [*kept, "\u0301", "\u0323", "a", " "]
    for characters in itertools.product(marks, repeat=3):
        text = "".join(characters)
        assert split_words(text, WordRules()) == google_basic_tokens(text, True), ascii(
            text
        )
    for text in ("ΟΔΟΣ", "ΟΔΟΣ Σ", "ΑΣ\u0301", "ΑΣ\u200dΑ", "Σ\ufdd1Σ", "\ufdd1A"):
        assert split_words(text, WordRules()) == google_basic_tokens(text, True), ascii(
            text
        )
