"""WordPiece: Google's ids, offsets, word starts, and the splitting of words."""

import itertools
import sys
import time
import unicodedata

import numpy as np
import pytest

from albert_keras.tokenizers import WordPieceEncoder, WordPieceTokenizer
from albert_keras.tokenizers.word_splitting import WordRules, split_words
from tests.tokenizers.google_word_pieces import google_basic_tokens, google_word_pieces
from tests.tokenizers.single_texts import assert_ragged_equals_single_texts
from tests.tokenizers.vocabularies import CHINESE, TOKENS


@pytest.fixture(scope="module")
def chinese(shared):
    return WordPieceTokenizer(shared / CHINESE).encoder


@pytest.fixture(scope="module")
def small():
    return WordPieceEncoder(TOKENS, lowercase=True)


@pytest.fixture(scope="module")
def texts(corpus_lines, stress_texts):
    # The reference goes character by character and takes its time over long lines.
    return [line for line in corpus_lines if len(line) < 600] + stress_texts


def test_ids_equal_google(chinese, texts):
    vocabulary = {token: i for i, token in enumerate(chinese.get_vocabulary())}
    # Tests below check the words of all lines.
    texts = [*texts[::3], "a\0b", "a" * 200, "a" * 201, "é" * 200]
    expected = [
        [
            vocabulary[piece]
            for word in google_basic_tokens(text)
            for piece in google_word_pieces(vocabulary, word)
        ]
        for text in texts
    ]
    assert chinese.encode_batch(texts) == expected


@pytest.mark.parametrize("lowercase", [True, False])
def test_ragged_equals_single_texts(chinese, texts_of_words, lowercase):
    encoder = WordPieceEncoder(chinese.get_vocabulary(), lowercase=lowercase)
    assert_ragged_equals_single_texts(encoder, texts_of_words)


def test_long_words_take_little_time(chinese):
    letters = np.random.default_rng(3).choice(list("abcdefghijklm"), (1_000, 199))
    begin = time.process_time()
    (ids,) = chinese.encode_batch([" ".join(map("".join, letters))])
    # Linear in the letters: 0.5 s on one core. Quadratic, it took 6 s.
    assert time.process_time() - begin < 3.0
    assert len(ids) > 50_000


def test_offsets(chinese, texts):
    for text in texts[::9]:
        ids, offsets = chinese.tokenize_with_offsets(text)
        assert [ids] == chinese.encode_batch([text])
        assert offsets == sorted(offsets)
        for index, (start, end) in zip(ids, offsets, strict=True):
            if index != chinese.unk_token_id:
                token = chinese.id_to_token(index)
                image = "".join(split_words(text[start:end], WordRules()))
                # Alone, a final sigma is a plain one; a Hangul syllable is two letters.
                image = image.replace("σ", "ς")
                assert token.removeprefix("##").replace("σ", "ς") in image


def test_offsets_of_marks_and_unknown_words(small):
    text = " Pla\u0301ying, played好"
    ids, offsets = small.tokenize_with_offsets(text)
    assert ids == [5, 6, 1, 1, 8]
    spans = [text[start:end] for start, end in offsets]
    assert spans == ["Pla\u0301y", "ing", ",", "played", "好"]


def test_word_starts(small):
    expected = [True, True, True, True, True, True, False, False, True, True]
    np.testing.assert_array_equal(small.word_starts, expected)


# === Words as Google's `BasicTokenizer` finds them ===


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
