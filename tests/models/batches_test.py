"""Batches of rows in memory and of `PyDataset`s, and data that cannot be batched."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_keras.models.batches import (
    Rows,
    batches_of_py_dataset,
    in_batches,
    is_in_memory,
    split_rows,
)
from albert_keras.preprocessors import AlbertTokenClassifierPreprocessor
from albert_keras.tokenizers import WordPieceTokenizer

WORDS = [["a"], ["b", "c", "d"], ["e", "f"]]


def pack(*parts):
    return keras.utils.pack_x_y_sample_weight(*parts)


def prepare(x, y=None, sample_weight=None):
    """Returns as features the characters of texts, and what came with them."""
    texts, others = x if isinstance(x, tuple) else (x, {})
    ids = np.zeros((len(texts), 40), np.int32)
    for row, text in enumerate(texts):
        ids[row, : len(text)] = [*map(ord, text)]
    return pack({"ids": ids, "padding_mask": ids > 0, **others}, y, sample_weight)


def test_rows_stay_together_in_tuples_and_dicts_of_any_kind_of_array():
    x = (
        tf.constant(["p", "qq", "r"]),
        {"number": np.arange(3), "word": ["a", "b", "c"]},
    )
    rows = Rows((x, [1, 2, 3], [5.0, 6.0, 7.0]), prepare, trims=True)
    assert rows.lengths.tolist() == [1, 2, 1]
    features, labels, weights = rows.prepared(np.array([2, 0]))
    assert features["ids"].tolist() == [[ord("r")], [ord("p")]]
    assert features["number"] == [2, 0]
    assert features["word"] == ["c", "a"]
    assert (labels.tolist(), labels.dtype) == ([3, 1], "int32")
    assert (weights.tolist(), weights.dtype) == ([7.0, 5.0], "float32")


def test_batches_have_few_lengths_and_in_each_epoch_another_order():
    texts = ["a" * size for size in range(1, 24)]
    rows = Rows((texts, np.ones((23, 40)), None), prepare, trims=True)
    batches = rows.delivered(5, shuffle=True)
    assert len(batches) == 5
    orders = []
    for _ in range(2):
        epoch = [(x["padding_mask"].numpy(), y) for x, y in batches]
        # Labels of as many columns as tokens are none of tokens.
        assert [y.shape for _, y in epoch] == [(5, 40)] * 4 + [(3, 40)]
        widths = [mask.shape[1] for mask, _ in epoch]
        assert sorted(widths[:4])[:2] == [16, 16]
        assert {*widths} <= {16, 24}
        orders.append([size for mask, _ in epoch for size in mask.sum(axis=1).tolist()])
        assert sorted(orders[-1]) == [*range(1, 24)]
    assert orders[0] != orders[1]


def test_labels_of_tokens_are_cut_like_the_features():
    data = (["ab", "cde"], np.ones((2, 40)), np.ones((2, 40)))
    batch = Rows(data, prepare, True, by_token=True).prepared(np.arange(2))
    assert [leaf.shape for leaf in keras.tree.flatten(batch)] == [(2, 3)] * 4
    batch = Rows(data, prepare, False, by_token=True).prepared(np.arange(2))
    assert [leaf.shape for leaf in keras.tree.flatten(batch)] == [(2, 40)] * 4


def test_a_split_keeps_what_is_absent():
    first, last = split_rows(((WORDS, ["p", "q", "r"]), [1, 2, 3], None), 0.4)
    assert first[0][0].to_list() == [[b"a"]]
    assert last[0][1].numpy().tolist() == [b"q", b"r"]
    assert last[1].numpy().tolist() == [2, 3]
    assert first[2] is last[2] is None


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ((["a", "b"], [1], None), "equally many rows.*Received: 1 and 2 rows"),
        (([], None, None), "at least one. Received: 0 rows"),
        (("a text", None, None), "must have rows.*a list"),
        ((["a", "b"], None, [1, 2]), "must come with `y`.*weights without labels"),
        ((["a", "b\ud83d"], None, None), "lone surrogates. Received: .*character 1 of"),
        ((["a", None], None, None), "must have a text. Received: None in row 1"),
        ((([None], ["a"]), None, None), "must have a text. Received: None in row 0"),
        ((np.array([np.nan, "a"], object), None, None), "Received: nan in row 0"),
        ((iter([]), [1], None), "A dataset must give `y`.*list_iterator"),
        ((iter([]), None, None), "can be read again.*list_iterator.*PyDataset"),
    ],
)
def test_unfit_rows_are_refused(data, error):
    is_rows = is_in_memory(data[0])
    with pytest.raises(ValueError, match=error):
        Rows(data, prepare, True) if is_rows else in_batches(data, prepare)


def test_a_split_must_leave_rows_on_both_sides():
    with pytest.raises(ValueError, match="validation_split=0.9 of 3 rows"):
        split_rows((["a", "b", "c"], None, None), 0.9)
    with pytest.raises(ValueError, match="needs rows in memory.*`validation_data`"):
        split_rows((tf.data.Dataset.range(3), None, None), 0.5)


class Batches(keras.utils.PyDataset):
    """Given batches."""

    def __init__(self, *batches):
        super().__init__()
        self.batches = batches

    num_batches = property(lambda self: len(self.batches) or None)

    def __getitem__(self, index):
        return self.batches[index]


def test_words_and_tags_of_a_py_dataset_are_filled_up():
    source = Batches((WORDS[:1], [[1]]), (WORDS[1:], [[2, 3, 4], [5, 6]]))
    batches = batches_of_py_dataset(source, source[0])
    assert len(batches) == 2
    words, tags = [*batches][1]
    assert words.numpy().tolist() == [[b"b", b"c", b"d"], [b"e", b"f", b""]]
    assert tags.numpy().tolist() == [[2, 3, 4], [5, 6, 0]]
    tokenizer = WordPieceTokenizer(
        ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdef"]
    )
    preprocessor = AlbertTokenClassifierPreprocessor(tokenizer, sequence_length=7)
    _, labels, weights = [*batches.map(preprocessor)][1]
    assert labels.numpy()[weights.numpy() > 0].tolist() == [2, 3, 4, 5, 6]


def test_a_batch_may_have_no_answers():
    answers = [[["b"], []], [[], []], [["c", "d"], ["e"]]]
    source = Batches(*({"text": batch} for batch in answers))
    batches = [batch["text"] for batch in batches_of_py_dataset(source, source[0])]
    assert [batch.shape.as_list() for batch in batches] == [[2, 1], [2, 0], [2, 2]]
    assert batches[2].numpy().tolist() == [[b"c", b"d"], [b"e", b""]]


def test_a_py_dataset_must_end():
    with pytest.raises(ValueError, match="must have an end.*num_batches=None"):
        batches_of_py_dataset(Batches(), ["a"])
