"""Texts packed as keras-hub packs them, cut as asked, and padded in batches."""

import itertools

import keras_hub
import numpy as np
import pytest

from albert_keras.text.sequences import (
    Examples,
    kept_lengths,
    pack_texts,
    ragged_places,
    split_texts,
)
from albert_keras.tokenizers import WordPieceEncoder, WordPieceTokenizer

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
CLS, SEP = 2, 3
LETTERS = "abcdefghijklmnopqrstuvwxyz."
PIECES = [*SPECIAL, *LETTERS, *(f"##{letter}" for letter in LETTERS)]


@pytest.fixture(scope="module")
def letters():
    """A tokenizer to which each word of a letter is a token: "a" is 5, "b" 6, ..."""
    return WordPieceEncoder(PIECES, lowercase=True)


@pytest.fixture(scope="module")
def texts(documents):
    """41 texts of no token to some hundred."""
    numbers = np.random.default_rng(7).integers(0, 7, 41)
    return [" ".join(d[:n]) for d, n in zip(documents, numbers, strict=False)]


def sequences(examples):
    """The token ids of each sequence, as lists."""
    ends = examples.offsets[1:-1]
    return [x.tolist() for x in np.split(examples.token_arrays["token_ids"], ends)]


@pytest.mark.parametrize("sequence_length", [4, 7, 12, 33, 300])
@pytest.mark.parametrize("is_pair", [False, True], ids=["texts", "pairs"])
@pytest.mark.parametrize("kind", ["sentence_piece", "word_piece"])
def test_same_as_keras_hub(kind, is_pair, sequence_length, tokenizer, texts):
    if kind == "word_piece":
        tokenizer = WordPieceTokenizer(PIECES)
    first, second = texts, texts[::-1] if is_pair else None
    preprocessor = keras_hub.models.TextClassifierPreprocessor(
        tokenizer, sequence_length=sequence_length
    )
    # With labels, since of a tuple alone it takes the second for these.
    expected, _ = preprocessor((first, second) if is_pair else first, np.ones(41))
    examples = pack_texts(
        tokenizer.encoder, first, second, sequence_length=sequence_length
    )
    received = examples.padded(np.arange(41), sequence_length)
    assert received.keys() == expected.keys()
    for name, array in received.items():
        assert array.dtype == np.int32
        assert np.array_equal(array, np.array(expected[name])), name


def test_pair_by_hand(letters):
    (received,) = sequences(pack_texts(letters, ["a b"], ["c"], sequence_length=9))
    assert received == [CLS, 5, 6, SEP, 7, SEP]
    examples = pack_texts(letters, ["a b c d e"], ["u v w x y z"], sequence_length=8)
    # Of five tokens the first text has three.
    assert sequences(examples) == [[CLS, 5, 6, 7, SEP, 25, 26, SEP]]
    assert examples.token_arrays["segment_ids"].tolist() == [0, 0, 0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize(
    ("truncation", "kept"),
    [
        ("head", "a b c d e f g h"),
        ("tail", "d e f g h i j k"),
        ("head_tail", "a b f g h i j k"),
    ],
)
def test_what_is_kept_of_a_long_text(letters, truncation, kept):
    texts = ["a b c d e f g h i j k", "a b c d e f g h", "x y z", ""]
    examples = pack_texts(letters, texts, sequence_length=10, truncation=truncation)
    expected = [letters.encode_batch([text])[0] for text in (kept, *texts[1:])]
    assert sequences(examples) == [[CLS, *ids, SEP] for ids in expected]


def test_head_and_tail_of_the_paper(letters):
    # 128 and 382 of 510 tokens.
    text = " ".join("a" * 128 + "b" * 91 + "c" * 382)
    options = {"sequence_length": 512, "truncation": "head_tail"}
    (received,) = sequences(pack_texts(letters, [text], **options))
    assert received == [CLS, *[5] * 128, *[7] * 382, SEP]


def test_lengths_of_pairs_are_those_of_the_original():
    """Its rule: while a pair is too long the longer text, or the second, loses one."""

    def shortened(first, second, room):
        while first + second > room:
            if first > second:
                first -= 1
            else:
                second -= 1
        return first, second

    sizes = np.stack(np.meshgrid(np.arange(13), np.arange(11))).reshape(2, -1)
    for room in (1, 2, 7, 8, 23):
        expected = [shortened(*pair, room) for pair in sizes.T.tolist()]
        received = kept_lengths(list(sizes), room)
        assert list(zip(*map(np.ndarray.tolist, received), strict=True)) == expected


def test_lengths_of_single_texts():
    (received,) = kept_lengths([np.array([0, 4, 5, 6])], 5)
    assert received.tolist() == [0, 4, 5, 5]


@pytest.mark.parametrize("sequence_length", [3, 8, 31, 1000])
def test_windows_hold_all_tokens(tokenizer, texts, sequence_length):
    encoder, room = tokenizer.encoder, sequence_length - 2
    windows, text_of = split_texts(encoder, texts, sequence_length=sequence_length)
    assert windows.lengths.max() <= sequence_length
    assert not windows.token_arrays["segment_ids"].any()
    of_texts = [[] for _ in texts]
    for ids, text in zip(sequences(windows), text_of, strict=True):
        assert (ids[0], ids[-1]) == (CLS, SEP)
        of_texts[text].append(ids[1:-1])
    for parts, ids in zip(of_texts, encoder.encode_batch(texts), strict=True):
        assert [*itertools.chain(*parts)] == list(ids)
        assert len(parts) == max(1, -(-len(ids) // room))
        sizes = [len(part) for part in parts]
        assert max(sizes) - min(sizes) <= 1


def test_empty_texts_and_none(letters):
    examples = pack_texts(letters, ["", "a"], ["b", ""], sequence_length=5)
    assert sequences(examples) == [[CLS, SEP, 6, SEP], [CLS, 5, SEP, SEP]]
    windows, text_of = split_texts(letters, ["", ""], sequence_length=5)
    assert sequences(windows) == [[CLS, SEP], [CLS, SEP]]
    assert text_of.tolist() == [0, 1]
    none = pack_texts(letters, [], sequence_length=5)
    assert none.num_examples == len(none.lengths) == 0
    assert none.padded(np.arange(0), 7)["token_ids"].shape == (0, 7)


def test_batch_of_examples_with_choices():
    examples = Examples(
        np.array([0, 2, 3, 3, 7, 8, 9]),
        {"token_ids": np.arange(11, 20, dtype=np.int32), "places": np.eye(9, 2)},
        {"labels": np.array([1, 0], np.int32)},
        num_choices=3,
    )
    assert examples.num_examples == 2
    assert examples.lengths.tolist() == [2, 4]
    batch = examples.padded([1, 0, 1], 5)
    rows = [
        [[14, 15, 16, 17, 0], [18, 0, 0, 0, 0], [19, 0, 0, 0, 0]],
        [[11, 12, 0, 0, 0], [13, 0, 0, 0, 0], [0, 0, 0, 0, 0]],
    ]
    assert batch["token_ids"].tolist() == [rows[0], rows[1], rows[0]]
    assert np.array_equal(batch["padding_mask"], batch["token_ids"] > 0)
    assert batch["places"].shape == (3, 3, 5, 2)
    assert batch["places"].sum() == 2
    assert batch["labels"].tolist() == [0, 1, 0]
    assert batch["labels"].dtype == np.int32


def test_tokens_of_examples_stand_where_the_mask_says(letters):
    examples = pack_texts(letters, ["a b", "", "c d e f", "g"], sequence_length=6)
    batch = examples.padded([2, 1, 3], 8)
    places = examples.token_places([2, 1, 3])
    token_ids = examples.token_arrays["token_ids"][places]
    real = batch["padding_mask"].astype(bool)
    assert token_ids.tolist() == batch["token_ids"][real].tolist()


def test_arrays_are_added_to_a_copy(letters):
    examples = pack_texts(letters, ["a", "b"], sequence_length=4)
    labelled = examples.with_arrays(labels=np.array([7, 9]))
    assert labelled.with_arrays(weights=np.ones(2)).padded([1], 3)["labels"] == [9]
    assert examples.example_arrays == {}


def test_runs_of_positions():
    begins, lengths = np.array([9, 2, 2, 50]), np.array([3, 0, 2, 1])
    assert ragged_places(begins, lengths).tolist() == [9, 10, 11, 2, 3, 50]
    assert ragged_places(begins[:0], lengths[:0]).tolist() == []


def test_what_cannot_be_packed(letters):
    with pytest.raises(ValueError, match="head, tail, head_tail. .*truncation='end'"):
        pack_texts(letters, ["a"], sequence_length=9, truncation="end")
    with pytest.raises(ValueError, match="for single texts. .*truncation='tail'"):
        pack_texts(letters, ["a"], ["b"], sequence_length=9, truncation="tail")
    with pytest.raises(ValueError, match="sequence_length=3, of which 3 are special"):
        pack_texts(letters, ["a"], ["b"], sequence_length=3)
    with pytest.raises(ValueError, match="sequence_length=2, of which 2 are special"):
        split_texts(letters, ["a"], sequence_length=2)
    with pytest.raises(ValueError, match="2 first texts and 1 second ones"):
        pack_texts(letters, ["a", "b"], ["c"], sequence_length=9)
    with pytest.raises(TypeError, match="must be a list of str. Received: 'ab'"):
        pack_texts(letters, "ab", sequence_length=9)


def test_sequences_longer_than_the_batch(letters):
    examples = pack_texts(letters, ["a b c", "a b c d e f"], sequence_length=9)
    assert examples.padded([0], 5)["token_ids"].shape == (1, 5)
    with pytest.raises(ValueError, match="Received: length=5, longest=8"):
        examples.padded([0, 1], 5)
