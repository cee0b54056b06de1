"""The factorized embedding, and positions in packed rows."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_keras.layers import FactorizedEmbedding
from albert_keras.layers.positions import positions_in_example, same_example_mask
from tests.helpers import make_config, make_inputs, max_difference, randomize

INPUTS = {name: make_inputs()[name] for name in ("token_ids", "segment_ids")}


@pytest.mark.parametrize(("width", "always"), [(9, False), (28, False), (28, True)])
def test_sum_then_normalization_then_projection(width, always):
    config = make_config(embedding_dim=width, always_project_embeddings=always)
    layer = FactorizedEmbedding(config)
    layer(**INPUTS)
    randomize(layer)
    values = {v.path.split("/", 1)[1]: v.numpy() for v in layer.trainable_variables}

    summed = (
        values.pop("token_embedding/embeddings")[INPUTS["token_ids"]]
        + values.pop("segment_embedding/embeddings")[INPUTS["segment_ids"]]
        + values.pop("position_embedding/embeddings")[:13]
    )
    centred = summed - summed.mean(-1, keepdims=True)
    expected = centred / centred.std(-1, keepdims=True)
    expected = expected * values.pop("layer_norm/gamma") + values.pop("layer_norm/beta")
    if width != 28 or always:
        expected = expected @ values.pop("projection/kernel")
        expected = expected + values.pop("projection/bias")

    assert max_difference(layer(**INPUTS), expected) < 1e-5
    # Nothing is left over: without a projection there is no bias either.
    assert values == {}


def test_given_positions_leave_the_gradient_of_their_table_whole():
    layer = FactorizedEmbedding(make_config())
    with tf.GradientTape() as tape:
        y = layer(**INPUTS, position_ids=np.tile(np.arange(13) % 7, (5, 1)))
        loss = tf.reduce_sum(y**3)
    gradient = tape.gradient(loss, layer.position_embedding.position_embeddings.value)
    # Not slices, which enter the global norm one by one.
    assert isinstance(gradient, tf.Tensor)
    used = np.abs(gradient).sum(-1) > 0.0
    assert used.tolist() == [True] * 7 + [False] * 12


def test_dropout_is_applied_at_its_rate_in_training_only():
    layer = FactorizedEmbedding(make_config(embedding_dim=28, dropout=0.3))
    assert max_difference(layer(**INPUTS), layer(**INPUTS, training=False)) == 0.0
    dropped = np.array(layer(**INPUTS, training=True)) == 0.0
    # 1560 values: three standard deviations are 0.035.
    assert dropped.mean() == pytest.approx(0.3, abs=0.035)


def test_sequence_longer_than_the_position_table_is_refused():
    layer = FactorizedEmbedding(make_config())
    ids = keras.ops.ones((2, 20), "int32")
    with pytest.raises(ValueError, match="sequence_length=20, max_sequence_length=19"):
        layer(ids, ids)


# === Picking tokens, and what keeps the examples of a packed row apart ===


# Examples of 3, 1, 4 and 6 tokens; the second row is full.
SEQUENCE_IDS = np.array(
    [[1, 1, 1, 2, 3, 3, 3, 3, 0, 0], [1, 1, 1, 1, 1, 1, 2, 2, 2, 2]], "int32"
)


def test_tokens_see_their_own_example_only():
    mask = np.array(same_example_mask(SEQUENCE_IDS))
    expected = np.zeros((2, 10, 10), bool)
    for row, start, stop in ((0, 0, 3), (0, 3, 4), (0, 4, 8), (1, 0, 6), (1, 6, 10)):
        expected[row, start:stop, start:stop] = True
    real = SEQUENCE_IDS > 0
    assert np.array_equal(mask[real], expected[real])
    # Real tokens see no padding; padding sees itself, so that its softmax has a sum.
    assert mask[~real].tolist() == [[False] * 8 + [True] * 2] * 2


def test_positions_are_exact_beyond_what_half_precision_counts():
    ids = np.repeat([1, 2], [2051, 301])[np.newaxis].astype("int32")
    positions = positions_in_example(same_example_mask(ids))
    expected = np.concatenate([np.arange(2051), np.arange(301)])
    assert np.array_equal(positions[0], expected)
