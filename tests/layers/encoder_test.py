"""The transformer layer: formula, masks, dropout, recomputation, sharing."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_keras.layers import (
    FeedForward,
    SelfAttention,
    TransformerEncoder,
    build_encoder_stack,
)
from albert_keras.layers.activations import ACTIVATION_FUNCTIONS
from tests.helpers import (
    make_config,
    make_inputs,
    max_difference,
    randomize,
    run_layer_test,
)

HIDDEN = np.random.default_rng(3).normal(size=(5, 13, 28)).astype("float32")
MASK = make_inputs()["padding_mask"]
ATTENTION_INPUTS = {"x": HIDDEN, "padding_mask": MASK}


def test_attention_gives_one_result_however_used(tmp_path):
    run_layer_test(
        lambda **dtype: SelfAttention(make_config(), **dtype),
        ATTENTION_INPUTS,
        ((5, 13, 28), (5, 4, 13, 13)),
        tmp_path,
    )


@pytest.mark.parametrize("activation", ACTIVATION_FUNCTIONS)
def test_feed_forward_gives_one_result_however_used(activation, tmp_path):
    config = make_config(activation=activation)
    run_layer_test(
        lambda **dtype: FeedForward(config, **dtype),
        {"x": HIDDEN},
        (5, 13, 28),
        tmp_path,
    )


def test_encoder_gives_one_result_however_used(tmp_path):
    run_layer_test(
        lambda **dtype: TransformerEncoder(make_config(), **dtype),
        ATTENTION_INPUTS,
        (5, 13, 28),
        tmp_path,
    )


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16", "float64"])
def test_encoder_states_the_shapes_and_dtypes_that_it_gives(policy):
    encoder = TransformerEncoder(make_config(), dtype=policy)
    received = encoder(HIDDEN, MASK, return_attention_scores=True)
    placeholders = keras.KerasTensor(HIDDEN.shape), keras.KerasTensor(MASK.shape)
    stated = encoder(*placeholders, return_attention_scores=True)
    for one, other in zip(stated, received, strict=True):
        assert (one.shape, one.dtype) == (tuple(other.shape), other.dtype.name)


def test_scores_are_probabilities_and_zero_on_padding():
    attention = SelfAttention(make_config())
    attention(**ATTENTION_INPUTS)
    scores = np.array(randomize(attention)(**ATTENTION_INPUTS)[1])
    assert np.abs(scores.sum(-1) - 1.0).max() < 1e-6
    real = np.broadcast_to(MASK[:, None, None, :] == 1, scores.shape)
    assert (scores[~real] == 0.0).all()
    assert (scores[real] > 0.0).all()


def test_each_query_can_have_its_own_mask():
    encoder = TransformerEncoder(make_config())
    encoder(HIDDEN, MASK)
    randomize(encoder)
    own = np.random.default_rng(5).integers(0, 2, (5, 13, 13)).astype(bool)
    own |= np.eye(13, dtype=bool)
    output, scores = encoder(HIDDEN, own, return_attention_scores=True)
    allowed = np.broadcast_to(own[:, np.newaxis], scores.shape)
    assert (np.array(scores)[~allowed] == 0.0).all()
    assert (np.array(scores)[allowed] > 0.0).all()
    for query in (0, 7, 12):
        alone = encoder(HIDDEN, own[:, query].astype("int32"))
        assert max_difference(output[:, query], alone[:, query]) < 1e-5


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16", "mixed_float16"])
def test_mask_is_safe_where_a_row_is_all_padding(policy):
    attention = SelfAttention(make_config(), dtype=policy)
    attention(**ATTENTION_INPUTS)
    randomize(attention)
    mask = MASK * (np.arange(5) != 2)[:, np.newaxis]
    # Some scores of these activations are in the thousands.
    output, scores = attention(HIDDEN * 60.0, mask)
    assert scores.dtype == "float32"
    assert np.isfinite(np.array(keras.ops.cast(output, "float32"))).all()
    assert np.abs(np.array(scores).sum(-1) - 1.0).max() < 1e-5


def apply_sub_layer(layer, x):
    return np.array(layer(x, MASK)[0] if isinstance(layer, SelfAttention) else layer(x))


@pytest.mark.parametrize("layer_class", [SelfAttention, FeedForward])
def test_normalization_comes_last(layer_class):
    output = apply_sub_layer(layer_class(make_config()), HIDDEN)
    assert np.abs(output.mean(-1)).max() < 1e-6
    assert np.abs(output.var(-1) - 1.0).max() < 1e-4


@pytest.mark.parametrize("layer_class", [SelfAttention, FeedForward])
def test_epsilon_lets_small_variances_through(layer_class):
    layer = layer_class(make_config(initializer_range=1e-9))
    # A variance of 1e-8 would become 1e-3 under an epsilon of 1e-5.
    output = apply_sub_layer(layer, HIDDEN * 1e-4)
    assert np.abs(output.var(-1) - 1.0).max() < 1e-3


def dropped_units(config):
    """Returns which units of rows of one real token lost their only attention weight.

    A unit of value 1 gives 0 or 1 / (1 - rate) then, which the normalization of the row
    shifts and scales, but keeps apart.
    """
    layer = SelfAttention(config)
    x = np.zeros((30, 2, config.hidden_dim), "float32")
    mask = np.tile([1, 0], (30, 1))
    layer(x, mask)
    layer.value.bias.assign(np.ones(config.hidden_dim))
    layer.projection.kernel.assign(np.eye(config.hidden_dim))
    seeds = [keras.ops.array([3, index], "uint32") for index in range(2)]
    output = np.array(layer(x, mask, seeds=seeds)[0])[:, 0]
    return output.reshape(30, config.num_heads, -1) < 0.0


def test_attention_dropout_drops_whole_heads_at_its_own_rate():
    config = make_config(num_heads=50, hidden_dim=150, attention_dropout=0.3)
    dropped = dropped_units(config)
    assert (dropped.all(-1) == dropped.any(-1)).all()
    # 1500 heads: three standard deviations are 0.036.
    assert dropped.all(-1).mean() == pytest.approx(0.3, abs=0.036)


def test_hidden_dropout_drops_single_units_at_its_own_rate():
    rates = {"dropout": 0.3, "attention_dropout": 0.0}
    dropped = dropped_units(make_config(num_heads=50, hidden_dim=150, **rates))
    # 4500 units: three standard deviations are 0.021.
    assert dropped.mean() == pytest.approx(0.3, abs=0.021)
    # The three units of a head fall together only by chance: 0.3 ** 3.
    assert dropped.all(-1).mean() == pytest.approx(0.027, abs=0.013)


def test_feed_forward_has_hidden_dropout_only():
    seeds = [keras.ops.array([3, 5], "uint32")]

    def change(**rates):
        layer = FeedForward(make_config(**rates))
        return max_difference(layer(HIDDEN, seeds=seeds), layer(HIDDEN))

    assert change(dropout=0.3, attention_dropout=0.0) > 1e-3
    assert change(dropout=0.0, attention_dropout=0.3) == 0.0


def test_dropout_is_seeded_and_drawn_anew_at_every_call():
    def run():
        keras.utils.set_random_seed(17)
        encoder = TransformerEncoder(make_config(dropout=0.3))
        return [np.array(encoder(HIDDEN, MASK, training=True)) for _ in range(2)]

    first, second = run()
    assert max_difference(first, second) > 1e-3
    assert max_difference(run(), [first, second]) == 0.0


def outputs_and_gradients(rematerialization):
    keras.utils.set_random_seed(17)
    config = make_config(
        dropout=0.2, attention_dropout=0.4, rematerialization=rematerialization
    )
    # Called three times, as a shared layer is: the gradients of the calls add up.
    encoder = TransformerEncoder(config)
    encoder(HIDDEN, MASK)
    randomize(encoder)

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in range(3):
                y = encoder(y, MASK, training=True)
            loss = tf.reduce_sum(y**3)
        return y, tape.gradient(loss, [x, *encoder.trainable_weights])

    graph = step.get_concrete_function(tf.constant(HIDDEN)).graph.as_graph_def()
    nodes = [*graph.node, *(n for f in graph.library.function for n in f.node_def)]
    num_softmax = sum(node.op == "Softmax" for node in nodes)
    return step(tf.constant(HIDDEN)), num_softmax


def test_rematerialization_repeats_the_dropout_and_changes_no_gradient():
    plain, num_plain = outputs_and_gradients(rematerialization=False)
    recomputed, num_recomputed = outputs_and_gradients(rematerialization=True)
    # Largest gradients are near 100.
    assert max_difference(recomputed, plain) < 1e-3
    assert max_difference(recomputed[0], plain[0]) < 3e-6
    # The backward pass has the attention again: the activations were not kept.
    assert num_recomputed >= 2 * num_plain


# Layer i belongs to group i * 14 // 18, where floating point goes astray.
GROUPS_OF_18_IN_14 = [0, 0, 1, 2, 3, 3, 4, 5, 6, 7, 7, 8, 9, 10, 10, 11, 12, 13]


def groups(stack):
    """Numbers the encoders in the order in which they first stand in the stack."""
    order = list(dict.fromkeys(stack))
    return [order.index(encoder) for encoder in stack]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ({"num_layers": 5}, [0, 0, 0, 0, 0]),
        ({"num_layers": 6, "num_groups": 2}, [0, 0, 0, 1, 1, 1]),
        ({"num_layers": 7, "num_groups": 3}, [0, 0, 0, 1, 1, 2, 2]),
        ({"num_layers": 18, "num_groups": 14}, GROUPS_OF_18_IN_14),
        ({"num_layers": 3, "num_inner_repetitions": 2}, [0, 1, 0, 1, 0, 1]),
        (
            {"num_layers": 4, "num_groups": 2, "num_inner_repetitions": 3},
            [0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5],
        ),
        ({"num_layers": 4, "num_groups": 12}, [0, 1, 2, 3]),
    ],
)
def test_layers_of_a_group_are_one_object(sizes, expected):
    assert groups(build_encoder_stack(make_config(**sizes))) == expected


def test_groups_beyond_the_layers_have_the_published_names():
    stack = build_encoder_stack(make_config(num_layers=4, num_groups=12))
    assert [encoder.name for encoder in stack] == [
        f"group_{group}_inner_0" for group in (0, 3, 6, 9)
    ]


@pytest.mark.parametrize(
    ("sharing", "num_attentions", "num_feed_forwards"),
    [("all", 2, 2), ("attention", 2, 7), ("ffn", 7, 2), ("none", 7, 7)],
)
def test_sub_layers_are_shared_apart(sharing, num_attentions, num_feed_forwards):
    config = make_config(num_layers=7, num_groups=2, sharing=sharing)
    stack = build_encoder_stack(config)
    assert len(stack) == 7
    assert len({id(encoder.attention) for encoder in stack}) == num_attentions
    assert len({id(encoder.feed_forward) for encoder in stack}) == num_feed_forwards
