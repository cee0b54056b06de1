"""Word tags aligned with tokens, and predictions back to words."""

import numpy as np
import pytest

from albert_keras.preprocessors.tagged_words import (
    align_tags,
    gather_words,
    words_of,
)
from albert_keras.tokenizers import WordPieceEncoder

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PIECES += ["我", "爱", "北", "京", "play", "##ing", "!"]


@pytest.fixture(scope="module")
def encoder():
    return WordPieceEncoder(PIECES, lowercase=True)


def test_words_of_scripts_with_and_without_spaces():
    words = [*"我爱北京，20年。", "Ann", "'s", "!"]
    assert words_of("我爱北京，20年。 Ann's  !") == words
    assert words_of("さくら\u3000カフェ 𠀀é") == [*"さくらカフェ𠀀é"]
    assert words_of("안녕 하세요 été") == ["안녕", "하세요", "été"]
    assert words_of(["北京", "a b"]) == ["北京", "a b"]


def test_tokens_have_the_tags_of_their_words(encoder):
    words = [["我", "爱", "北京"], ["playing", "\x01", "!", "\x02"]]
    examples = align_tags(encoder, words, [[0, 0, 3], [5, 2, 1, 4]], sequence_length=9)
    assert examples.offsets.tolist() == [0, 6, 11]
    arrays = {name: array.tolist() for name, array in examples.token_arrays.items()}
    assert arrays == {
        "token_ids": [2, 5, 6, 7, 8, 3, 2, 9, 10, 11, 3],
        "segment_ids": [0] * 11,
        "labels": [0, 0, 0, 3, 3, 0, 0, 5, 5, 1, 0],
        "label_weights": [0, 1, 1, 1, 0, 0, 0, 1, 0, 1, 0],
        "word_of": [-1, 0, 1, 2, 2, -1, -1, 3, 3, 5, -1],
    }
    assert {array.dtype.name for array in examples.token_arrays.values()} == {"int32"}
    tokens = np.arange(11)
    received = gather_words(examples, tokens, words, default=99)
    assert received == [[1, 2, 3], [7, 99, 9, 99]]


def test_long_sentences_are_cut_between_words(encoder):
    words = [["我", "爱", "北京"], ["playing", "!"]]
    examples = align_tags(encoder, words, sequence_length=5)
    assert examples.offsets.tolist() == [0, 4, 8, 13]
    token_ids = examples.token_arrays["token_ids"]
    assert token_ids.tolist() == [2, 5, 6, 3, 2, 7, 8, 3, 2, 9, 10, 11, 3]
    assert examples.token_arrays["word_of"].tolist()[4:8] == [-1, 2, 2, -1]
    # Of a word that no sequence holds its beginning stays.
    examples = align_tags(encoder, words, sequence_length=3)
    assert examples.token_arrays["token_ids"][1::3].tolist() == [5, 6, 7, 9, 11]


@pytest.mark.parametrize("sequence_length", [3, 7, 12, 200])
def test_every_word_keeps_its_tag(tokenizer, sequence_length):
    rng = np.random.default_rng(sequence_length)
    some = ["\x01", "\u200b", "a", "bcdefgh" * 3, "t,k", "你", "mop", "\u3000\x7f"]
    words = [list(rng.choice(some, size)) for size in rng.integers(0, 23, 61)]
    tag_ids = [rng.integers(0, 9, len(row)).tolist() for row in words]
    encoder = tokenizer.encoder
    examples = align_tags(encoder, words, tag_ids, sequence_length=sequence_length)
    assert examples.lengths.max() <= sequence_length

    rows = [encoder.encode_batch(row) for row in words]
    expected = [
        [tag if pieces else 77 for pieces, tag in zip(*pair, strict=True)]
        for pair in zip(rows, tag_ids, strict=True)
    ]
    tags = examples.token_arrays["labels"]
    assert gather_words(examples, tags, words, default=77) == expected
    kept = [p for row in rows for word in row for p in word[: sequence_length - 2]]
    is_piece = examples.token_arrays["word_of"] >= 0
    assert examples.token_arrays["token_ids"][is_piece].tolist() == kept
    num_words = sum(map(bool, [word for row in rows for word in row]))
    assert examples.token_arrays["label_weights"].sum() == num_words


def test_empty_sentence(encoder):
    examples = align_tags(encoder, [[]], [[]], sequence_length=5)
    assert examples.num_examples == 0
    assert gather_words(examples, np.zeros(0, int), [[]], default=0) == [[]]


def test_errors_of_alignment(encoder):
    with pytest.raises(
        ValueError, match="have a tag. .* sentence 1 differs, with 2 and 1"
    ):
        align_tags(encoder, [["我"], ["我", "爱"]], [[1], [2]], sequence_length=9)
    with pytest.raises(ValueError, match="2 and 1 .* sentence 1 differs, with 1 and 0"):
        align_tags(encoder, [["我"], ["我"]], [[1]], sequence_length=9)
    with pytest.raises(ValueError, match="sequence_length=2, of which 2 are special"):
        align_tags(encoder, [["我"]], sequence_length=2)
