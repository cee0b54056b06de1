import unicodedata

import numpy as np
import pytest
import tensorflow as tf

from albert_keras.tokenizers import WordPieceTokenizer
from albert_keras.tokenizers.word_piece import split_words

CHINESE = "data/tokenizers/albert_zh/vocab.txt"
TOKENS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "play",
    "##ing",
    "##s",
    "好",
    "!",
]


@pytest.fixture(scope="module")
def chinese(shared):
    return WordPieceTokenizer(shared / CHINESE)


@pytest.fixture(scope="module")
def small():
    return WordPieceTokenizer(TOKENS)


@pytest.fixture(scope="module")
def texts(corpus_lines, stress_texts):
    # The reference goes character by character and takes its time over long lines.
    return [line for line in corpus_lines if len(line) < 600] + stress_texts


def is_punctuation(character):
    code = ord(character)
    ascii_symbol = 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96
    if ascii_symbol or 123 <= code <= 126:
        return True
    return unicodedata.category(character).startswith("P")


def is_chinese(character):
    blocks = [
        (0x4E00, 0x9FFF),
        (0x3400, 0x4DBF),
        (0x20000, 0x2A6DF),
        (0x2A700, 0x2B73F),
        (0x2B740, 0x2B81F),
        (0x2B820, 0x2CEAF),
        (0xF900, 0xFAFF),
        (0x2F800, 0x2FA1F),
    ]
    return any(first <= ord(character) <= last for first, last in blocks)


def google_basic_tokens(text, lowercase=True):
    """google-research/albert `BasicTokenizer`, step by step."""
    cleaned = []
    for character in text:
        if character in "\t\n\r" or unicodedata.category(character) == "Zs":
            cleaned.append(" ")
        elif character not in "\0\ufffd" and (
            unicodedata.category(character) not in ("Cc", "Cf")
        ):
            cleaned.append(f" {character} " if is_chinese(character) else character)
    words = []
    for token in "".join(cleaned).strip().split():
        if lowercase:
            token = unicodedata.normalize("NFD", token.lower())
            token = "".join(c for c in token if unicodedata.category(c) != "Mn")
        words.append("".join(f" {c} " if is_punctuation(c) else c for c in token))
    return " ".join(words).split()


def google_word_pieces(vocabulary, word):
    """google-research/albert `WordpieceTokenizer` of one word."""
    if len(word) > 200:
        return ["[UNK]"]
    pieces, start = [], 0
    while start < len(word):
        end = len(word)
        while start < end:
            piece = ("##" if start else "") + word[start:end]
            if piece in vocabulary:
                break
            end -= 1
        if start == end:
            return ["[UNK]"]
        pieces.append(piece)
        start = end
    return pieces


def test_cased_words_equal_google(texts):
    for text in texts:
        assert split_words(text, lowercase=False) == google_basic_tokens(text, False)


def test_ids_equal_google(chinese, texts):
    vocabulary = {token: i for i, token in enumerate(chinese.get_vocabulary())}
    texts = [*texts, "a\0b", "a" * 200, "a" * 201, "é" * 200]
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
def test_graph_equals_python(shared, texts, lowercase):
    tokenizer = WordPieceTokenizer(shared / CHINESE, lowercase=lowercase)
    texts = [*texts, "a" * 200, "a" * 201, "é" * 200]
    assert tokenizer(tf.constant(texts)).to_list() == tokenizer.encode_batch(texts)


def test_golden_ids(chinese):
    tokens = [chinese.id_to_token(i) for i in chinese("Ａlbert 在2012年，好")]
    assert tokens == ["ａ", "##l", "##bert", "在", "2012", "年", "，", "好"]
    assert chinese("好") == [1962]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Plays, PLAYING!", ["play", "##s", "[UNK]", "play", "##ing", "!"]),
        ("play\x01ing\u200d好好", ["play", "##ing", "好", "好"]),
        ("pl\u0301ay\u3000好", ["play", "好"]),
        ("played", ["[UNK]"]),
        ("[MASK]", ["[UNK]", "[UNK]", "[UNK]"]),
    ],
)
def test_small_vocabulary(small, text, tokens):
    assert [small.id_to_token(i) for i in small(text)] == tokens


def test_case_and_accents_are_kept_on_request():
    tokenizer = WordPieceTokenizer([*TOKENS, "É"], lowercase=False)
    assert tokenizer("É é") == [10, 1]


def test_word_length_limit(chinese):
    assert len(chinese("a" * 200)) > 1
    assert chinese("a" * 201) == [chinese.unk_token_id]


def test_offsets(chinese, texts):
    for text in texts[::9]:
        ids, offsets = chinese.tokenize_with_offsets(text)
        assert ids == chinese(text)
        assert offsets == sorted(offsets)
        for index, (start, end) in zip(ids, offsets, strict=True):
            if index != chinese.unk_token_id:
                token = chinese.id_to_token(index)
                image = "".join(split_words(text[start:end], lowercase=True))
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


def test_detokenize_joins_words(small):
    assert small.detokenize([5, 6, 8, 5, 7, 9]) == "playing 好 plays !"


def test_special_tokens(chinese):
    assert chinese.special_tokens == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    assert chinese.special_token_ids == [0, 100, 101, 102, 103]
    assert (chinese.start_token_id, chinese.end_token_id) == (101, 102)
    assert chinese.vocabulary_size() == 21128


def test_missing_file():
    with pytest.raises(ValueError, match="path of a file.*vocabulary='no/vocab.txt'"):
        WordPieceTokenizer("no/vocab.txt")


def test_file_is_not_text(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="must be a UTF-8 text file.*vocab.txt"):
        WordPieceTokenizer(path)


def test_missing_special_tokens():
    with pytest.raises(ValueError, match=r"Received: 2 tokens without \['\[PAD\]', "):
        WordPieceTokenizer(["[UNK]", "a"])
