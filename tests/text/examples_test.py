"""Batches of examples: padding, choices, positions of tokens."""

import numpy as np

from albert_keras.text.examples import Examples
from albert_keras.tokenizers.ragged import offsets_of


def test_batch_of_examples_with_choices():
    examples = Examples(
        np.array([0, 2, 3, 3, 7, 8, 9]),
        {"token_ids": np.arange(11, 20, dtype=np.int32), "positions": np.eye(9, 2)},
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
    assert batch["positions"].shape == (3, 3, 5, 2)
    assert batch["positions"].sum() == 2
    assert batch["labels"].tolist() == [0, 1, 0]
    assert batch["labels"].dtype == np.int32


def make_examples(*lengths):
    offsets = offsets_of(lengths)
    return Examples(offsets, {"token_ids": np.arange(11, 11 + offsets[-1])})


def test_token_positions_are_in_the_order_of_the_padding_mask():
    examples = make_examples(4, 2, 6, 3)
    batch = examples.padded([2, 1, 3], 8)
    positions = examples.token_positions([2, 1, 3])
    token_ids = examples.token_arrays["token_ids"][positions]
    real = batch["padding_mask"].astype(bool)
    assert token_ids.tolist() == batch["token_ids"][real].tolist()


def test_arrays_are_added_to_a_copy():
    examples = make_examples(3, 2)
    labelled = examples.with_arrays(labels=np.array([7, 9]))
    assert labelled.with_arrays(weights=np.ones(2)).padded([1], 3)["labels"] == [9]
    assert examples.example_arrays == {}
