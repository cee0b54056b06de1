"""Tokens per step, from the element specification of a dataset."""

import numpy as np
import pytest
import tensorflow as tf

from albert_keras.training.tokens import tokens_per_step


def test_positions_of_full_batches():
    features = {"token_ids": np.zeros((17, 13)), "segment_ids": np.zeros((17, 13))}
    rows = tf.data.Dataset.from_tensor_slices((features, np.zeros(17)))
    assert tokens_per_step(rows.batch(6, drop_remainder=True)) == 6 * 13
    # The last batch may be smaller.
    assert tokens_per_step(rows.batch(6)) is None
    assert tokens_per_step(rows.batch(6), 2) is None
    assert tokens_per_step(rows.batch(6, drop_remainder=True), 2) == 12 * 13


@pytest.mark.parametrize("data", [np.zeros((6, 13)), np.zeros(5)], ids=["2d", "1d"])
def test_other_data_has_an_unknown_number_of_tokens(data):
    assert tokens_per_step(tf.data.Dataset.from_tensor_slices(data)) is None
    assert tokens_per_step([data]) is None
