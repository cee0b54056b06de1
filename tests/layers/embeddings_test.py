"""The factorized embedding, against its formula."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_keras.layers import FactorizedEmbedding
from tests.helpers import (
    make_config,
    make_inputs,
    max_difference,
    randomize,
    run_layer_test,
)

INPUTS = {name: make_inputs()[name] for name in ("token_ids", "segment_ids")}


@pytest.mark.parametrize("embedding_dim", [9, 28])
def test_one_result_however_used(embedding_dim, tmp_path):
    config = make_config(embedding_dim=embedding_dim)
    run_layer_test(
        lambda **dtype: FactorizedEmbedding(config, **dtype),
        INPUTS,
        (5, 13, 28),
        tmp_path,
    )


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


def test_positions_can_be_given():
    layer = FactorizedEmbedding(make_config())
    in_order = np.tile(np.arange(13), (5, 1))
    layer(**INPUTS)
    randomize(layer)
    assert (
        max_difference(layer(**INPUTS, position_ids=in_order), layer(**INPUTS)) == 0.0
    )
    # A row of two halves is two rows.
    halves = {name: value[:, :12].reshape(10, 6) for name, value in INPUTS.items()}
    whole = {name: value[:, :12] for name, value in INPUTS.items()}
    packed = layer(**whole, position_ids=in_order[:, :12] % 6)
    assert max_difference(packed, np.reshape(layer(**halves), (5, 12, 28))) < 1e-6


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
