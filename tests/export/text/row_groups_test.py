"""Groups of rows of similar length."""

import numpy as np
import pytest
import tensorflow as tf

from albert_keras.export.text.row_groups import TOKENS_OF_A_GROUP, in_groups


@tf.function(autograph=False)
def describe(token_ids, padding_mask, scale):
    """Returns each row's sum, its name, and the padded length and rows of its group."""
    sums = scale * tf.cast(tf.reduce_sum(token_ids * padding_mask, axis=1), tf.float32)
    num_rows, length = tf.unstack(tf.shape(token_ids))
    shape = tf.repeat([[num_rows, length]], num_rows, axis=0)
    return {"sum": sums, "name": tf.strings.as_string(sums), "shape": shape}


@pytest.fixture(scope="module")
def run():
    ids = tf.TensorSpec((None, None), tf.int32)
    scale = tf.TensorSpec((), tf.float32)
    traced = describe.get_concrete_function(ids, ids, scale)
    return tf.function(in_groups(traced), autograph=False)


def rows(lengths):
    width = max(lengths, default=1)
    mask = np.arange(width) < np.reshape(lengths, (-1, 1))
    mask = mask.astype("int32")
    return {"token_ids": 7 * mask, "padding_mask": mask, "scale": tf.constant(0.5)}


def test_outputs_keep_their_order_and_groups_have_little_padding(run):
    lengths = [3, 250, 4, 200, 3, 100, 90, 80, 2]
    outputs = {name: x.numpy() for name, x in run(**rows(lengths)).items()}
    assert outputs["sum"].tolist() == [3.5 * length for length in lengths]
    assert [float(name) for name in outputs["name"]] == outputs["sum"].tolist()
    # 512 tokens: 2 rows of 250, then 5 of 100, then the rest.
    assert TOKENS_OF_A_GROUP == 512
    expected = {250: [2, 250], 200: [2, 250], 100: [5, 100], 4: [5, 100], 3: [2, 3]}
    by_length = dict(zip(lengths[:-1], outputs["shape"].tolist(), strict=False))
    # Of the two rows of 3 the later one is in the last group.
    assert by_length == expected | {90: [5, 100], 80: [5, 100]}
    assert outputs["shape"].tolist()[-1] == [2, 3]


def test_a_row_longer_than_a_group_and_no_rows(run):
    outputs = run(**rows([600, 5]))
    assert outputs["shape"].numpy().tolist() == [[1, 600], [1, 5]]
    outputs = run(**rows([]))
    assert outputs["sum"].shape == (0,)
    assert outputs["shape"].shape == (0, 2)
