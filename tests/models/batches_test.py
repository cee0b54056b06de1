"""Batches of rows in memory, and data that cannot be batched."""

import numpy as np
import pytest
import tensorflow as tf

from albert_keras.models.batches import in_batches, split_rows

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
