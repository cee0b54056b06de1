"""Batches of rows in memory and of `PyDataset`s, and data that cannot be batched."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_keras.models.batches import (
    batches_of_py_dataset,
    in_batches,
    split_rows,
)
from albert_keras.preprocessors import AlbertTokenClassifierPreprocessor
from albert_keras.tokenizers import WordPieceTokenizer

WORDS = [["a"], ["b", "c", "d"], ["e", "f"]]


def test_rows_stay_together_in_tuples_and_dicts_of_any_kind_of_array():
    x = ({"words": WORDS, "number": np.arange(3)}, tf.constant(["p", "q", "r"]))
    rows = (x, [1, 2, 3], [5.0, 6.0, 7.0])
    (batch,) = in_batches(rows, shuffle=True)
    (features, letters), labels, weights = batch
    rows = features["number"].numpy()
    assert [[word.decode() for word in row] for row in features["words"].numpy()] == [
        WORDS[row] for row in rows
    ]
    assert letters.numpy().tolist() == [b"pqr"[row : row + 1] for row in rows]
    assert labels.numpy().tolist() == [row + 1 for row in rows]
    assert weights.numpy().tolist() == [row + 5.0 for row in rows]


def test_data_without_labels_are_features_alone():
    (batch,) = in_batches((["a", "b"], None, None))
    assert batch.numpy().tolist() == [b"a", b"b"]


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
    with pytest.raises(ValueError, match=error):
        in_batches(data)


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
    batches = in_batches((source, None, None))
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
    batches = [batch["text"] for batch in in_batches((source, None, None))]
    assert [batch.shape.as_list() for batch in batches] == [[2, 1], [2, 0], [2, 2]]
    assert batches[2].numpy().tolist() == [[b"c", b"d"], [b"e", b""]]


def test_a_py_dataset_must_end():
    with pytest.raises(ValueError, match="must have an end.*num_batches=None"):
        batches_of_py_dataset(Batches(), ["a"])
