"""Words as Google's `BasicTokenizer` finds them."""

import numpy as np
import pytest

from albert_keras.tokenizers.word_splitting import split_words, word_boundaries
from albert_keras.tokenizers.words import find_words
from tests.tokenizers.google_word_pieces import google_basic_tokens, is_chinese


def test_cased_words_equal_google(corpus_lines, stress_texts):
    # The reference goes character by character and takes its time over long lines.
    lines = [line for line in corpus_lines if len(line) < 600]
    for text in lines + stress_texts:
        assert split_words(text, lowercase=False) == google_basic_tokens(text, False)


@pytest.mark.parametrize("lowercase", [True, False])
def test_text_may_be_given_word_by_word(corpus_lines, stress_texts, lowercase):
    for text in corpus_lines[::7] + stress_texts:
        words = find_words([text], word_boundaries())
        parts = words.decode(np.arange(len(words.starts)))
        together = [word for part in parts for word in split_words(part, lowercase)]
        assert together == split_words(text, lowercase)


def test_chinese_characters_stand_alone():
    stands_alone = word_boundaries().stands_alone
    code_points = [*range(0x2000, 0x10000, 7), *range(0x1F000, 0x30000, 11)]
    expected = [is_chinese(chr(code)) for code in code_points]
    np.testing.assert_array_equal(stands_alone[code_points], expected)


def test_words_end_at_ascii_marks():
    words = find_words(["(Plays, 2.5!)"], word_boundaries())
    parts = words.decode(np.arange(len(words.starts)))
    assert parts == ["(", "Plays", ",", "2", ".", "5", "!", ")"]
