"""Counted operations and parameters, and the similarity of layers."""

import keras
import numpy as np
import pytest

from albert_keras.analysis import (
    count_parameters,
    layer_similarity,
    multiply_adds,
    operation_table,
    parameter_table,
    plot_operations,
    plot_parameters,
)
from albert_keras.config import PRESETS, SHARING, AlbertConfig
from albert_keras.models import AlbertBackbone, AlbertPretrainer
from albert_keras.text import Examples
from albert_keras.tokenizers.ragged import offsets_of
from tests.figure_checks import check_layout, texts_of
from tests.helpers import make_config, randomize

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


# === Parameter counts: those of built models ===


def count_built_parameters(config):
    """Counts those of a built pretraining model, by part, without their memory.

    In a stateless scope that is left without initialization, variables have a shape and
    no value: even bert_xlarge costs nothing.
    """
    with keras.StatelessScope(initialize_variables=False):
        backbone = AlbertBackbone(**config.to_dict())
        model = AlbertPretrainer(backbone, compile=False)
    parts = {
        "embeddings": model.backbone.embedding,
        "pooler": model.backbone.pooler,
        "mlm_head": model.mlm_head,
        "sop_head": model.pair_head,
    }
    counts = {part: layer.count_params() for part, layer in parts.items()}
    projection = model.backbone.embedding.projection
    counts["projection"] = projection.count_params() if projection else 0
    counts["embeddings"] -= counts["projection"]
    # The head's layer holds the embedding's table.
    counts["mlm_head"] -= config.vocabulary_size * config.embedding_dim
    stack = model.backbone.encoders
    for part in ("attention", "feed_forward"):
        sub_layers = {id(s): s for s in (getattr(e, part) for e in stack)}
        counts[part] = sum(layer.count_params() for layer in sub_layers.values())
    return counts, backbone.count_params(), model.count_params()


@pytest.fixture(autouse=True, scope="module")
def forget_variables():
    yield
    # Else the next stateless scope would initialize those of this module.
    keras.utils.clear_session()


@pytest.mark.parametrize(
    ("name", "changes"),
    [(name, {}) for name in PRESETS]
    + [("albert_xlarge_v1", {"sharing": sharing}) for sharing in SHARING[1:]],
)
def test_every_preset_is_built_as_counted(name, changes):
    config = AlbertConfig.from_preset(name, **changes)
    table, num_backbone, num_model = count_built_parameters(config)
    assert table == parameter_table(config)
    assert num_backbone == count_parameters(config)
    assert num_model == sum(table.values())


@pytest.mark.parametrize("sharing", SHARING)
@pytest.mark.parametrize(("num_layers", "num_groups"), [(7, 3), (5, 11)])
def test_groups_are_built_as_counted(num_layers, num_groups, sharing):
    config = make_config(
        num_layers=num_layers,
        num_groups=num_groups,
        num_inner_repetitions=2,
        sharing=sharing,
    )
    assert count_built_parameters(config)[0] == parameter_table(config)


def test_plots_have_the_parts_and_their_sum(tmp_path):
    pytest.importorskip("matplotlib")
    config = AlbertConfig.from_preset("albert_xxlarge_v2")
    table = {**parameter_table(config), "backbone": 1}
    title = "222,595,584 parameters without the heads (hatched)"
    for plot, results, texts in (
        (plot_parameters, table, {title, "feed forward", "134,246,400"}),
        (plot_operations, operation_table(config, 512), {"training, 7,580 × 10⁹"}),
    ):
        figure = plot(results, tmp_path / "a.svg")
        check_layout(figure)
        assert {"mlm head", *texts} <= texts_of(figure)
    assert (tmp_path / "a.svg").read_bytes().startswith(b"<?xml")


# === Distance and angle of each layer's input and output ===


def make_examples(lengths):
    """Returns `Examples` of random tokens."""
    ids = np.random.default_rng(5).integers(0, 61, sum(lengths), "int32")
    arrays = {"token_ids": ids, "segment_ids": np.zeros_like(ids)}
    return Examples(offsets_of(lengths), arrays)


def test_real_tokens_count_once_each():
    keras.utils.set_random_seed(3)
    backbone = randomize(AlbertBackbone(**make_config().to_dict()))
    examples = make_examples((9, 3, 14))
    received = layer_similarity(backbone, examples, batch_size=2)
    distances, angles = [], []
    for row, length in enumerate(examples.lengths):
        outputs = backbone.with_outputs(hidden_states=True)(
            examples.padded([row], length)
        )
        states = np.stack([np.asarray(s)[0] for s in outputs["hidden_states"]])
        before, after = states[:-1], states[1:]
        distances.append(np.sqrt(((after - before) ** 2).sum(axis=-1)))
        norms = np.sqrt((before**2).sum(-1) * (after**2).sum(-1))
        angles.append(np.rad2deg(np.arccos((before * after).sum(-1) / norms)))
    # Each (num_layers, tokens of all texts).
    distances, angles = (np.concatenate(x, axis=1) for x in (distances, angles))
    assert received["num_tokens"] == 26
    assert received["l2_distance"] == pytest.approx(distances.mean(axis=1), abs=1e-4)
    assert received["angle"] == pytest.approx(angles.mean(axis=1), abs=1e-2)
