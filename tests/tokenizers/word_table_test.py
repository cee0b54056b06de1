"""The word table, around an encoder that gives a word its characters as ids."""

import numpy as np
import pytest

from albert_keras.tokenizers.word_table import (
    MAX_WORD_BYTES,
    MAX_WORDS,
    EncodedWords,
    WordTable,
)
from albert_keras.tokenizers.words import Boundaries

SPACES_ONLY = Boundaries(np.zeros((128, 128), bool))


class Characters:
    """Encodes words as their code points, and counts how many it was given.

    A word costs a tenth of its length, and is sure in texts that cost no more than its
    first digit says.
    """

    def __init__(self):
        self.num_words = 0

    def __call__(self, words, are_continued):
        self.num_words += len(words)
        reaches = [float(word[0]) if word[0].isdigit() else np.inf for word in words]
        return EncodedWords(
            np.array(
                [ord(character) for word in words for character in word], np.int32
            ),
            np.array([len(word) for word in words]),
            np.array([len(word) / 10 for word in words]),
            np.array(reaches),
        )


def ids_of(text):
    return [ord(character) for character in text if character != " "]


@pytest.fixture
def characters():
    return Characters()


@pytest.fixture
def table(characters):
    return WordTable(SPACES_ONLY, characters)


def test_texts_are_encoded_word_by_word(table):
    texts = ["one two  one", "", " ", "three", "äöü one"]
    token_ids, num_tokens, is_sure = table.encode(texts)
    assert token_ids.dtype == np.int32
    assert token_ids.tolist() == ids_of("".join(texts))
    assert num_tokens.tolist() == [9, 0, 0, 5, 6]
    assert is_sure.all()


def test_each_word_is_encoded_once(table, characters):
    table.encode(["one two one", "two one"])
    assert characters.num_words == 2
    token_ids, _, _ = table.encode(["two three"])
    assert characters.num_words == 3
    assert token_ids.tolist() == ids_of("twothree")


def test_texts_beyond_the_reach_of_a_word_are_left_out(table):
    texts = ["1 aaaaaaaaa", "1 aaaaaaaaaa", "2 aaaaaaaaaa", "b 0", "b"]
    token_ids, num_tokens, is_sure = table.encode(texts)
    assert is_sure.tolist() == [True, False, True, False, True]
    assert num_tokens.tolist() == [10, 0, 11, 0, 1]
    assert token_ids.tolist() == ids_of("1aaaaaaaaa2aaaaaaaaaab")


def test_very_long_words_are_left_out_and_not_kept(table, characters):
    texts = ["a " + "x" * MAX_WORD_BYTES, "b " + "x" * (MAX_WORD_BYTES + 1)]
    assert table.encode(texts)[2].tolist() == [True, False]
    assert characters.num_words == 3


def test_a_full_table_starts_anew(table, characters):
    num_words = 0
    for start in range(0, 2 * MAX_WORDS, MAX_WORDS // 5):
        words = [f"w{number}" for number in range(start, start + MAX_WORDS // 5)]
        texts = [" ".join(words[n : n + 50]) for n in range(0, len(words), 50)]
        token_ids, _, is_sure = table.encode([*texts, "first"])
        assert is_sure.all()
        assert token_ids.tolist() == ids_of("".join([*texts, "first"]))
        num_words += len(words)
    # The one word of all texts was met again, each time the table had started anew.
    assert num_words + 1 < characters.num_words < num_words + 10


def test_a_text_of_too_many_words_is_left_out(table):
    text = " ".join(map(str, range(10**6, 10**6 + MAX_WORDS)))
    _, num_tokens, is_sure = table.encode(["one", "9" + text])
    assert is_sure.tolist() == [True, False]
    assert num_tokens.tolist() == [3, 0]


def test_random_words(table):
    random = np.random.default_rng(7)
    for _ in range(20):
        lengths = random.integers(1, 22, 3000)
        words = ["".join(map(chr, random.integers(97, 100, n))) for n in lengths]
        texts = [" ".join(words[n : n + 37]) for n in range(0, len(words), 37)]
        token_ids, _, _ = table.encode(texts)
        assert token_ids.tolist() == ids_of("".join(texts))
