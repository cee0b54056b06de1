"""Rows of one length from lists and tensors of token ids."""

import numpy as np
import pytest
import tensorflow as tf

from albert_keras.preprocessors import AlbertTextClassifierPreprocessor
from albert_keras.preprocessors.segment_packer import SegmentPacker


def test_lists_and_tensors_give_the_same_rows(tokenizer):
    packer = SegmentPacker(tokenizer, 9)
    segments = ([[11, 12], [], [13] * 7], [[21], [22, 23], [24] * 8])
    from_lists = packer(segments)
    from_tensors = packer(tuple(tf.ragged.constant(rows) for rows in segments))
    for ids, expected in zip(from_tensors, from_lists, strict=True):
        assert tf.is_tensor(expected)
        assert np.array_equal(ids, expected)
    three = packer((*segments, segments[0]))[1].numpy()
    assert three[0].tolist() == [0, 0, 0, 0, 1, 1, 2, 2, 2]
    cls, sep = tokenizer.cls_token_id, tokenizer.sep_token_id
    one = packer(tuple(rows[0] for rows in segments))[0]
    assert one.numpy().tolist()[:6] == [cls, 11, 12, sep, 21, sep]


def test_pairs_are_columns_or_rows(tokenizer):
    preprocessor = AlbertTextClassifierPreprocessor(tokenizer, 9)
    pairs, columns = [("a", "b"), ("c", "d")], (["a", "c"], ["b", "d"])
    assert preprocessor.columns(pairs)[0] == columns
    assert preprocessor.columns(columns)[0] is columns
    for x in (
        [["a", "b"]],
        np.array([("a", "b", "c")]),
        np.zeros((2, 1)),
        {"text": ["a"]},
        [{"text": "a"}],
        ["a", ()],
        ["a", None],
    ):
        with pytest.raises(ValueError, match="list of tuples or a tuple of two lists"):
            preprocessor.columns(x)
        with pytest.raises(ValueError, match="Texts must be a list of str"):
            preprocessor(x)


class Table:
    """What a pandas DataFrame has of its interface."""

    ndim = 2

    def __init__(self, **columns):
        self.columns, self.keys = columns, columns.keys

    def __getitem__(self, name):
        return self.columns[name]

    def to_numpy(self):
        return np.array([*self.columns.values()], object).T


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
