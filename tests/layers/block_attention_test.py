"""Attention in blocks: equal to full attention under the mask of the blocks."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_keras.layers import SelfAttention, attention_bias
from tests.helpers import make_config, max_difference, randomize

# Blocks of 4 in rows of 29: the last one has a single token.
LENGTH = 29
HIDDEN = np.random.default_rng(3).normal(size=(5, LENGTH, 28)).astype("float32")
NUM_REAL = np.array([29, 27, 14, 6, 2])
MASK = (np.arange(LENGTH) < NUM_REAL[:, np.newaxis]).astype("int32")
PATTERNS = [
    {"block_size": 4},
    {"block_size": 4, "num_global_blocks": 2},
    {"block_size": 3, "num_window_blocks": 2},
]


def make_pair(**fields):
    """Returns a layer that attends in blocks and a full one, of the same weights."""
    block, full = (
        SelfAttention(make_config(attention=attention, **fields))
        for attention in ("block", "full")
    )
    block.build(HIDDEN.shape)
    full.build(HIDDEN.shape)
    full.set_weights(randomize(block).get_weights())
    return block, full


def allowed(block_size, num_global_blocks=1, num_window_blocks=1):
    """Returns the pairs of tokens of which one attends to the other, one by one."""
    pairs = np.zeros((LENGTH, LENGTH), bool)
    for one in range(LENGTH):
        for other in range(LENGTH):
            blocks = one // block_size, other // block_size
            is_global = min(blocks) < num_global_blocks
            pairs[one, other] = is_global or abs(np.diff(blocks)) <= num_window_blocks
    return pairs


@pytest.mark.parametrize("pattern", PATTERNS)
def test_blocks_equal_full_attention_under_their_mask(pattern):
    block, full = make_pair(**pattern)
    pairs = allowed(**pattern)
    assert 0.3 < pairs.mean() < 0.8
    bias = attention_bias(MASK[:, np.newaxis] * pairs)
    expected, scores = full(HIDDEN, bias, return_attention_scores=True)
    output = block(HIDDEN, attention_bias(MASK))
    assert max_difference(output, expected) < 1e-5
    again, own = block(HIDDEN, attention_bias(MASK), return_attention_scores=True)
    assert max_difference([again, own], [expected, scores]) < 1e-5
    assert max_difference(full(HIDDEN, attention_bias(MASK)), output) > 0.01


@pytest.mark.skipif(keras.config.backend() != "tensorflow", reason="takes gradients")
@pytest.mark.slow
def test_gradients_are_those_of_full_attention_compiled_too():
    block, full = make_pair(block_size=4)

    def gradients(layer, hidden, mask):
        with tf.GradientTape() as tape:
            tape.watch(hidden)
            loss = tf.reduce_sum(layer(hidden, attention_bias(mask)) ** 3)
        return tape.gradient(loss, [hidden, *layer.trainable_variables])

    hidden = tf.constant(HIDDEN)
    expected = gradients(full, hidden, MASK[:, np.newaxis] * allowed(4))
    scale = max(np.abs(each).max() for each in expected)
    received = gradients(block, hidden, MASK)
    assert max_difference(received, expected) < 1e-5 * scale
    # For rows of any number and length, as `fit` compiles them.
    shapes = [tf.TensorSpec((None, None, 28)), tf.TensorSpec((None, None), tf.int32)]
    compiled = tf.function(
        lambda *inputs: gradients(block, *inputs),
        jit_compile=True,
        input_signature=shapes,
    )
    assert max_difference(compiled(hidden, MASK), expected) < 1e-5 * scale


def test_short_rows_attend_to_all():
    block, full = make_pair(block_size=4)
    # Of three blocks the first is global, and the others stand side by side.
    for length, is_same in ((12, True), (13, False)):
        x, bias = HIDDEN[:, :length], attention_bias(MASK[:, :length])
        assert (max_difference(block(x, bias), full(x, bias)) == 0) == is_same


@pytest.mark.skipif(keras.config.backend() != "tensorflow", reason="traces a graph")
def test_graph_for_any_length_takes_rows_shorter_than_the_first_blocks():
    block, full = make_pair(block_size=4, num_global_blocks=2)
    shapes = [tf.TensorSpec((None, None, 28)), tf.TensorSpec((None, 1, 1, None))]
    graph = tf.function(block, input_signature=shapes)
    for length in (3, 7):
        x, bias = HIDDEN[:, :length], attention_bias(MASK[:, :length])
        assert max_difference(graph(x, bias), full(x, bias)) < 1e-6


def test_packed_rows_are_refused():
    block, _ = make_pair(block_size=4)
    with pytest.raises(ValueError, match='without packed rows.*or attention="full"'):
        block(HIDDEN, attention_bias(np.ones((5, LENGTH, LENGTH))))
