"""Weights as shares of the whole batch, and division of a batch in parts."""

import keras
import numpy as np
import pytest

from albert_keras.train_step.weights import (
    GlobalWeights,
    global_weights,
    num_weighted_rows,
    split_batch,
    update_mean,
)


def alone(values):
    return values


def test_each_target_is_divided_by_its_own_sum():
    targets = {"pieces": np.zeros((3, 4)), "pairs": np.zeros(3)}
    weights = {"pieces": np.array([[1.0, 1, 0, 0], [3, 0, 0, 0], [0] * 4])}
    shares = global_weights(targets, weights, alone)
    assert np.array(shares.weights["pieces"])[0] == pytest.approx([0.2, 0.2, 0, 0])
    assert np.array(shares.weights["pairs"]) == pytest.approx([1 / 3] * 3)
    assert float(shares.num_examples) == 3.0


def test_sums_are_over_all_replicas():
    # As if another replica had seven times the weights and examples.
    shares = global_weights({"y": np.zeros(2)}, None, lambda x: [8 * v for v in x])
    assert np.array(shares.weights["y"]).tolist() == [1 / 16, 1 / 16]
    assert float(shares.num_examples) == 16.0


def test_one_tensor_of_weights_applies_to_all_targets():
    targets = {"one": np.zeros((2, 5)), "other": np.zeros(2)}
    shares = global_weights(targets, np.array([1.0, 3.0]), alone)
    for name in targets:
        assert np.array(shares.weights[name]).tolist() == [0.25, 0.75]


@pytest.mark.parametrize("shape", [(2,), (2, 1)])
def test_a_column_of_weights_is_a_weight_for_each_example(shape):
    weights = np.array([[2.0], [6.0]])
    shares = global_weights({"y": np.zeros(shape)}, weights, alone)
    assert np.array(shares.weights["y"]).tolist() == [0.25, 0.75]


def test_weights_without_a_target_are_refused():
    targets = {"mlm_logits": np.zeros((2, 3)), "sop_logits": np.zeros(2)}
    with pytest.raises(ValueError, match="weights mlm for mlm_logits, sop_logits"):
        global_weights(targets, {"mlm": np.ones((2, 3))}, alone)


def test_a_batch_without_weight_has_no_division_by_zero():
    shares = global_weights({"y": np.zeros(3)}, np.zeros(3), alone)
    assert np.array(shares.weights["y"]).tolist() == [0.0, 0.0, 0.0]


def test_rows_count_where_any_target_has_weight():
    weights = {"pieces": np.eye(5, 3), "pairs": np.array([0.0, 0.0, 0.0, 0.5, 0.0])}
    assert int(num_weighted_rows(weights)) == 4


@pytest.mark.parametrize("num_parts", [1, 2, 3, 5])
def test_parts_hold_each_row_once(num_parts):
    parts = split_batch((np.arange(11), {"absent": None}), num_parts)
    assert len(parts) == num_parts
    assert all(part[1] == {"absent": None} for part in parts)
    rows = np.concatenate([part[0] for part in parts])
    assert sorted(rows.tolist()) == list(range(11))


def test_parts_of_a_batch_add_its_loss_to_a_mean_over_examples():
    mean = keras.metrics.Mean()
    # The last part has no rows, as on a replica of a last batch.
    for values in ([[3.0, 1.0, 4.0], [1.0, 5.0], []], [[9.0], [], [0.0]]):
        values = [np.array(part) for part in values]
        num_examples = float(sum(map(len, values)))
        for part in values:
            weights = {"y": np.ones(len(part), "float32") / num_examples}
            shares = GlobalWeights(weights, num_examples)
            update_mean(mean, (part * weights["y"]).sum(), shares)
    assert float(mean.result()) == pytest.approx(23 / 7, rel=1e-6)


def test_more_parts_than_rows_are_refused():
    with pytest.raises(ValueError, match="Received: 2 rows .* micro_batches=3"):
        split_batch(np.zeros((2, 7)), 3)
