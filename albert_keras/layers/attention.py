"""Multi-head self-attention sub-layer and the computation of attention."""

import functools

import keras
from keras import ops

from albert_keras.layers.block_attention import block_attention, block_bias, has_blocks
from albert_keras.layers.configured import ConfiguredLayer, flatten_sequences
from albert_keras.layers.seeds import dropout_with_seed


def attention_scores(query, key, bias):
    """Returns the attention probabilities, in float32 or a wider type.

    Args:
        query, key: `(batch, sequence_length, num_heads, head_dim)`.
        bias: Broadcastable to `(batch, num_heads, sequence_length, sequence_length)`,
            the shape of the result.
    """
    # (batch, num_heads, sequence_length, head_dim)
    query = ops.transpose(query * query.shape[-1] ** -0.5, (0, 2, 1, 3))
    # (batch, num_heads, head_dim, sequence_length)
    key = ops.transpose(key, (0, 2, 3, 1))
    scores = ops.matmul(query, key)
    dtype = keras.backend.result_type(scores.dtype, "float32")
    return ops.softmax(ops.cast(scores, dtype) + ops.cast(bias, dtype))


def weigh_values(scores, value, dropout=None):
    """Returns the sums of values, weighted by attention probabilities.

    Args:
        scores: `(batch, num_heads, sequence_length, sequence_length)`.
        value: `(batch, sequence_length, num_heads, head_dim)`, the shape of the result.
        dropout: Function that drops probabilities, or `None`.
    """
    weights = ops.cast(scores, value.dtype)
    if dropout is not None:
        weights = dropout(weights)
    context = ops.matmul(weights, ops.transpose(value, (0, 2, 1, 3)))
    return ops.transpose(context, (0, 2, 1, 3))


def attend(query, key, value, bias, dropout=None):
    """Computes attention with the fastest function of the backend.

    `keras.ops.dot_product_attention` uses flash attention where the device supports it.
    But it has no dropout, its softmax is in float32, and on TensorFlow it consists of
    more operations than `attention_scores` and `weigh_values`.

    Args:
        query, key, value: `(batch, sequence_length, num_heads, head_dim)`, also the shape
            of the result.
        bias: As for `attention_scores`.
        dropout: As for `weigh_values`.
    """
    is_wide = keras.backend.standardize_dtype(query.dtype) == "float64"
    if dropout is None and not is_wide and keras.config.backend() != "tensorflow":
        return ops.dot_product_attention(query, key, value, bias=bias)
    return weigh_values(attention_scores(query, key, bias), value, dropout)


@keras.saving.register_keras_serializable(package="albert_keras")
class SelfAttention(ConfiguredLayer):
    """Attention sub-layer: multi-head self-attention, dropout, residual, normalization.

    It replaces `keras.layers.MultiHeadAttention` for three reasons: its kernels have the
    two dimensions of the published files, scores are masked in float32 with every dtype
    policy, and dropout takes seeds that are drawn before, for rematerialization.

    Input shape:
        `x` `(batch, sequence_length, hidden_dim)`; `bias`, a result of `attention_bias`;
        `seeds`, a list of `num_seeds` dropout seeds `(2,)`, or `None`.

    Output shape:
        As `x`; with `return_attention_scores=True` also the attention probabilities,
        `(batch, num_heads, sequence_length, sequence_length)`. With block attention they
        are computed for all pairs of tokens, and are 0 outside the blocks.

    Reference: google-research/albert modeling.py `attention_layer`.
    """

    num_seeds = 2

    def __init__(self, albert_config, **kwargs):
        super().__init__(albert_config, **kwargs)
        hidden_dim = self.albert_config.hidden_dim
        self.query = self.dense(hidden_dim, "query")
        self.key = self.dense(hidden_dim, "key")
        self.value = self.dense(hidden_dim, "value")
        self.projection = self.dense(hidden_dim, "projection")
        self.normalization = self.layer_norm()

    def build(self, input_shape):
        hidden_shape = (None, None, self.albert_config.hidden_dim)
        for layer in (self.query, self.key, self.value, self.projection):
            layer.build(hidden_shape)
        self.normalization.build(hidden_shape)

    def call(self, x, bias, seeds=None, training=False, return_attention_scores=False):
        config, dropout = self.albert_config, None
        if seeds is not None and config.attention_dropout_rate > 0:
            dropout = functools.partial(
                dropout_with_seed, rate=config.attention_dropout_rate, seed=seeds[0]
            )
        rows = flatten_sequences(x)
        # (batch, sequence_length, num_heads, head_dim) each
        query, key, value = (
            self._split_heads(dense(rows), x)
            for dense in (self.query, self.key, self.value)
        )
        if return_attention_scores:
            if has_blocks(config, x.shape[1]):
                bias = bias + block_bias(config, ops.shape(x)[1])
            scores = attention_scores(query, key, bias)
            context = weigh_values(scores, value, dropout)
        elif has_blocks(config, query.shape[1]):
            full = functools.partial(attend, dropout=dropout)
            context = block_attention(query, key, value, bias, full, config, training)
        else:
            context = attend(query, key, value, bias, dropout)
        output = self.projection(ops.reshape(context, ops.shape(rows)))
        output = ops.reshape(output, ops.shape(x))
        if seeds is not None:
            output = dropout_with_seed(output, config.dropout, seeds[1])
        output = self.normalization(x + output)
        return (output, scores) if return_attention_scores else output

    def _split_heads(self, rows, x):
        """Reshapes rows to the sequences of `x` with separate heads."""
        batch, sequence_length, hidden_dim = ops.shape(x)
        num_heads = self.albert_config.num_heads
        shape = (batch, sequence_length, num_heads, hidden_dim // num_heads)
        return ops.reshape(rows, shape)
