"""Words of a batch of texts, and their keys."""

import numpy as np
import pytest

from albert_keras.tokenizers.words import Boundaries, find_words

SPACES_ONLY = Boundaries(np.zeros((128, 128), bool))


def decoded(words):
    return words.decode(np.arange(len(words.starts)))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("two words", ["two", "words"]),
        (" a\tb\nc\r", ["", "a", "b", "c", ""]),
        ("", [""]),
        ("a\x0bb\u3000c\xa0d", ["a\x0bb\u3000c\xa0d"]),
        ("é\ud800 好", ["é\ud800", "好"]),
    ],
)
def test_white_space_separates(text, words):
    assert decoded(find_words([text], SPACES_ONLY)) == words


def test_texts_keep_apart():
    words = find_words(["a b", "", "c\n", "d e f"], SPACES_ONLY)
    assert decoded(words) == ["a", "b", "", "c", "", "d", "e", "f"]
    assert words.first_words.tolist() == [0, 2, 3, 5]
    assert not words.are_continued.any()


def test_words_end_between_pairs_of_ascii_characters():
    pairs = np.zeros((128, 128), bool)
    pairs[ord("b"), ord("c")] = True
    words = find_words(["abcbc cb", "cb", "bc bcé"], Boundaries(pairs))
    assert decoded(words) == ["ab", "cb", "c", "cb", "cb", "b", "c", "bcé"]
    assert np.flatnonzero(words.are_continued).tolist() == [1, 2, 6]
    assert words.first_words.tolist() == [0, 4, 5]


def test_characters_stand_alone():
    stands_alone = np.zeros(0x110000, bool)
    stands_alone[[ord("好"), ord("𠀋")]] = True
    boundaries = Boundaries(SPACES_ONLY.pairs, stands_alone)
    words = find_words(["好a 𠀋", "bé好好ü", "ascii", "𠀋"], boundaries)
    assert decoded(words) == ["好", "a", "𠀋", "bé", "好", "好", "ü", "ascii", "𠀋"]
    assert np.flatnonzero(words.are_continued).tolist() == [1, 4, 5, 6]
    assert words.first_words.tolist() == [0, 3, 7, 8]


def test_equal_keys_are_equal_words():
    words = ["", "a", "a\0", "\0a", "b", "好", "é", "x" * 7, "x" * 8, "x" * 9]
    words += ["y" * 14 + end for end in ("", "1", "12", "123", "124")]
    words += ["z" * 900, "z" * 901]
    keys = find_words(words, SPACES_ONLY).keys()
    assert len({*zip(*keys.tolist(), strict=True)}) == len(words)
    again = find_words([" ".join(words[::-1])], SPACES_ONLY).keys()
    np.testing.assert_array_equal(again[:, ::-1], keys)


@pytest.mark.parametrize("word", ["b", "b" * 19])
def test_a_continued_word_has_another_key(word):
    pairs = np.zeros((128, 128), bool)
    pairs[ord("a"), ord("b")] = True
    words = find_words([f"{word} a{word}"], Boundaries(pairs))
    assert decoded(words) == [word, "a", word]
    alone, _, continued = words.keys().T.tolist()
    assert alone != continued
