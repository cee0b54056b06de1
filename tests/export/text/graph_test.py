"""Steps that the text signatures share."""

import pytest
import tensorflow as tf

from albert_keras.export.text.graph import PART_ROWS, require, run_in_parts


@pytest.mark.parametrize("num_rows", [0, 1, PART_ROWS, 2 * PART_ROWS + 3])
def test_parts_are_as_large_as_they_may_be_and_give_all_rows(num_rows):
    sizes = []

    def run(token_ids, padding_mask):
        tf.numpy_function(sizes.append, [tf.shape(token_ids)[0]], [])
        return {"sums": tf.reduce_sum(token_ids * padding_mask, axis=1)}

    ids = tf.random.stateless_uniform((num_rows, 5), (1, 2), 0, 99, tf.int32)
    mask = tf.ones_like(ids)
    sums = run_in_parts(run, {"token_ids": ids, "padding_mask": mask})["sums"]
    assert sums.numpy().tolist() == tf.reduce_sum(ids, axis=1).numpy().tolist()
    assert 0 < min(sizes)
    assert max(sizes) <= PART_ROWS
    assert sum(sizes) == max(1, num_rows)


def test_a_broken_rule_tells_what_it_received():
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"(?s)Be even. Received:.*3, 5"
    ):
        require(tf.constant(False), "Be even.", tf.constant([3, 5]))
