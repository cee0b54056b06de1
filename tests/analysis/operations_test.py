"""Counted operations, against a traced graph and published models."""

import keras
import numpy as np
import pytest

from albert_keras.analysis import multiply_adds, operation_table, plot_operations
from albert_keras.config import AlbertConfig
from albert_keras.models import AlbertBackbone, AlbertPretrainer
from tests.figure_checks import check_layout, texts_of
from tests.helpers import make_config

LENGTH, NUM_PREDICTIONS = 13, 5
PRODUCTS = ("MatMul", "BatchMatMul", "BatchMatMulV2", "Einsum")


def count_products(function):
    """Counts the multiply-adds of the matrix products in a graph of static shapes."""
    total = 0
    for operation in function.get_concrete_function().graph.get_operations():
        if operation.type in PRODUCTS:
            first = operation.inputs[0].shape
            transposed = any(
                operation.node_def.attr[name].b for name in ("transpose_a", "adj_x")
            )
            assert operation.type != "Einsum"
            inner = first[-2] if transposed else first[-1]
            total += operation.outputs[0].shape.num_elements() * inner
    return total


@pytest.mark.skipif(keras.config.backend() != "tensorflow", reason="reads its graphs")
def test_counts_are_those_of_the_graph():
    import tensorflow as tf

    config = make_config(num_layers=1, num_inner_repetitions=2)
    model = AlbertPretrainer(AlbertBackbone(**config.to_dict()), compile=False)
    ids = np.ones((1, LENGTH), np.int32)
    features = {"token_ids": ids, "segment_ids": ids, "padding_mask": ids}

    def loss():
        positions = ids[:, :NUM_PREDICTIONS]
        outputs = model({**features, "mask_positions": positions})
        # All outputs reach the gradient.
        return sum(tf.reduce_sum(tf.square(x)) for x in tf.nest.flatten(outputs))

    @tf.function
    def train():
        with tf.GradientTape() as tape:
            value = loss()
        return tape.gradient(value, model.trainable_variables)

    counts = multiply_adds(config, LENGTH, NUM_PREDICTIONS)
    assert count_products(tf.function(loss)) == sum(counts.values())
    table = operation_table(config, LENGTH, NUM_PREDICTIONS)
    assert table["training"]["total"] == 2 * count_products(train)
    heads = counts["mlm_head"] + counts["sop_head"]
    assert table["inference"]["total"] == 2 * (sum(counts.values()) - heads)


def test_published_sizes():
    """BERT-base has 22.5e9 operations at 128 tokens (Sun et al. 2020, MobileBERT)."""
    counts = {
        name: multiply_adds(AlbertConfig.from_preset(name), 128)
        for name in ("bert_base", "albert_base_v2", "albert_xxlarge_v2")
    }
    assert 2 * sum(counts["bert_base"].values()) / 1e9 == pytest.approx(22.5, abs=0.2)
    # Sharing saves no operations; the projection costs few.
    shared = {**counts["albert_base_v2"], "projection": 0}
    assert shared == counts["bert_base"]
    wide = counts["albert_xxlarge_v2"]
    assert wide["feed_forward"] == 2 * wide["attention_projections"]


def test_rematerialization_computes_the_layers_twice():
    config, parts = make_config(), ("attention_products", "projection")
    plain = operation_table(config, LENGTH)["training"]
    again = operation_table(make_config(rematerialization=True), LENGTH)["training"]
    assert [again[part] / plain[part] for part in parts] == [4 / 3, 1]
    # 15 % of 13.
    assert operation_table(config, LENGTH)["num_predictions"] == 2


@pytest.mark.parametrize(
    ("changes", "length", "part"),
    [
        ({}, 20, "at most 19"),
        ({}, 0, "positive"),
        ({"attention": "block"}, 5, "attention='block'"),
    ],
)
def test_what_is_not_counted_is_refused(changes, length, part):
    with pytest.raises(ValueError, match=part):
        multiply_adds(make_config(**changes), length)


def test_layout(tmp_path):
    pytest.importorskip("matplotlib")
    config = AlbertConfig.from_preset("albert_xxlarge_v2")
    figure = plot_operations(operation_table(config, 512), tmp_path / "a.svg")
    check_layout(figure)
    assert {"mlm head", "feed forward", "training, 7,580 × 10⁹"} <= texts_of(figure)
