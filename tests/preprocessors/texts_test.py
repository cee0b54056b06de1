"""Packed texts and windows, and segments in columns and rows."""

import itertools

import numpy as np
import pytest

from albert_keras import sample
from albert_keras.preprocessors import AlbertTextClassifierPreprocessor
from albert_keras.preprocessors.texts import pack_texts, split_texts
from albert_keras.tokenizers import WordPieceEncoder

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
CLS, SEP = 2, 3
LETTERS = "abcdefghijklmnopqrstuvwxyz."
PIECES = [*SPECIAL, *LETTERS, *(f"##{letter}" for letter in LETTERS)]


@pytest.fixture(scope="module")
def letters():
    """A tokenizer with one token for each letter: "a" is 5, "b" 6, ..."""
    return WordPieceEncoder(PIECES, lowercase=True)


@pytest.fixture(scope="module")
def texts():
    """41 texts of 0 to about a hundred tokens."""
    words = sample.CORPUS.read_text("utf-8").split()
    numbers = np.random.default_rng(7).integers(0, 40, 41)
    return [" ".join(words[n : n + n]) for n in numbers]


def sequences(examples):
    """The token ids of each sequence, as lists."""
    ends = examples.offsets[1:-1]
    return [x.tolist() for x in np.split(examples.token_arrays["token_ids"], ends)]


@pytest.mark.parametrize(
    ("truncation", "kept"),
    [
        ("head", "a b c d e f g h"),
        ("tail", "d e f g h i j k"),
        ("head_tail", "a b f g h i j k"),
    ],
)
def test_truncation_of_a_long_text(letters, truncation, kept):
    texts = ["a b c d e f g h i j k", "a b c d e f g h", "x y z", ""]
    examples = pack_texts(letters, texts, sequence_length=10, truncation=truncation)
    expected = [letters.encode_batch([text])[0] for text in (kept, *texts[1:])]
    assert sequences(examples) == [[CLS, *ids, SEP] for ids in expected]
    if truncation == "head_tail":
        # 128 and 382 of 510 tokens, as in the paper.
        long = [" ".join("a" * 128 + "b" * 91 + "c" * 382)]
        examples = pack_texts(letters, long, sequence_length=512, truncation=truncation)
        assert sequences(examples) == [[CLS, *[5] * 128, *[7] * 382, SEP]]


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


def test_errors_of_packing(letters):
    with pytest.raises(ValueError, match="sequence_length=3, 3 of them special"):
        pack_texts(letters, ["a"], ["b"], sequence_length=3)
    with pytest.raises(ValueError, match="sequence_length=2, 2 of them special"):
        split_texts(letters, ["a"], sequence_length=2)
    with pytest.raises(TypeError, match="must be a list. Received: texts=.ab."):
        pack_texts(letters, "ab", sequence_length=9)


def test_pairs_are_columns_or_rows(tokenizer):
    preprocessor = AlbertTextClassifierPreprocessor(tokenizer, 9)
    pairs, columns = [("a", "b"), ("c", "d")], (["a", "c"], ["b", "d"])
    assert preprocessor.columns(pairs)[0] == columns
    assert preprocessor.columns(columns)[0] is columns
    arrays = np.array([("a", "b", "c")]), np.zeros((2, 1))
    others = [["a", "b"]], {"text": ["a"]}, [{"text": "a"}], ["a", ()], ["a", None]
    for x in (*arrays, *others):
        with pytest.raises(ValueError, match="list of tuples or a tuple of two lists"):
            preprocessor.columns(x)
        with pytest.raises(ValueError, match="Texts must be a list of str"):
            preprocessor(x)
    for x in (["a", None], (["a", "b"], ["c", None])):
        with pytest.raises(ValueError, match="Received: None in row 1"):
            preprocessor.columns(x)


class Table(dict):
    """What a pandas DataFrame has of its interface."""

    ndim = 2

    def to_numpy(self):
        return np.array([*self.values()], object).T


def test_tables_are_columns(tokenizer):
    preprocessor = AlbertTextClassifierPreprocessor(tokenizer, 9)
    texts, others = ["a", "b", "c"], ["d", "e", "f"]
    for dtype in (object, str):
        x, _ = preprocessor.columns(np.array(texts, dtype)[:, None])
        assert x.tolist() == texts
    x, _ = preprocessor.columns(Table(note=texts))
    assert x.tolist() == texts
    for table in (Table(a=texts, b=others), np.array([texts, others]).T):
        x, _ = preprocessor.columns(table)
        assert [column.tolist() for column in x] == [texts, others]
