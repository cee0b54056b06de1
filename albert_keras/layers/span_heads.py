"""Answer-span heads: start, end for a given start, and no answer."""

import keras
from keras import ops

from albert_keras.checks import check_positive_integer
from albert_keras.layers.configured import (
    ConfiguredLayer,
    dense_layer,
    truncated_normal,
)
from albert_keras.layers.positions import take_tokens
from albert_keras.layers.seeds import Dropout

# The original's value. Half precision cannot represent it.
MASKED_LOGIT = -1e30


@keras.saving.register_keras_serializable(package="albert_keras")
class StartLogits(ConfiguredLayer):
    """Logit of each token for the start of the answer.

    Input shape:
        `tokens` `(batch, sequence_length, hidden_dim)`; `answer_mask`, integers,
        `(batch, sequence_length)`, 1 where an answer may start or end.

    Output shape:
        `(batch, sequence_length)`, float32 with mixed precision, -1e30 where
        `answer_mask` is 0.

    Reference: google-research/albert squad_utils.py `create_v2_model`, `start_logits`.
    """

    def __init__(self, albert_config, **kwargs):
        super().__init__(albert_config, **kwargs)
        self.output_dense = _one_output(self)

    def build(self, tokens_shape, answer_mask_shape=None):
        self.output_dense.build(tokens_shape)

    def call(self, tokens, answer_mask):
        return _masked(self.output_dense(tokens), answer_mask)


@keras.saving.register_keras_serializable(package="albert_keras")
class EndLogits(ConfiguredLayer):
    """Logit of each token for the end of the answer, for each given start.

    The concatenated vectors of token and start pass through a dense layer with tanh, a
    layer normalization, and a dense layer of one output.

    Input shape:
        `tokens` and `answer_mask` as for `StartLogits`; between them `start_positions`,
        integers, `(batch, num_starts)`.

    Output shape:
        `(batch, num_starts, sequence_length)`, otherwise as for `StartLogits`.

    Reference: google-research/albert squad_utils.py `create_v2_model`, `end_logits`.
    """

    def __init__(self, albert_config, **kwargs):
        super().__init__(albert_config, **kwargs)
        self.normalization = self.layer_norm()
        self.output_dense = _one_output(self)

    def build(self, tokens_shape, start_positions_shape=None, answer_mask_shape=None):
        hidden_dim = self.albert_config.hidden_dim
        self.hidden_kernel = self.add_weight(
            name="hidden_kernel",
            shape=(2 * hidden_dim, hidden_dim),
            initializer=truncated_normal(self.albert_config),
        )
        self.hidden_bias = self.add_weight(
            name="hidden_bias", shape=(hidden_dim,), initializer="zeros"
        )
        self.normalization.build((None, None, None, hidden_dim))
        self.output_dense.build((None, None, None, hidden_dim))

    def call(self, tokens, start_positions, answer_mask):
        starts = take_tokens(tokens, start_positions)
        # The product with a concatenation is the sum of two products. So each vector is
        # multiplied once, and pairs are never concatenated.
        token_kernel, start_kernel = ops.split(self.hidden_kernel, 2)
        # (batch, num_starts, hidden_dim) and (batch, sequence_length, hidden_dim)
        starts = ops.matmul(starts, start_kernel) + self.hidden_bias
        tokens = ops.matmul(tokens, token_kernel)
        # (batch, num_starts, sequence_length, hidden_dim)
        x = ops.tanh(ops.expand_dims(starts, 2) + ops.expand_dims(tokens, 1))
        x = self.normalization(x)
        return _masked(self.output_dense(x), ops.expand_dims(answer_mask, 1))


@keras.saving.register_keras_serializable(package="albert_keras")
class UnanswerableLogit(ConfiguredLayer):
    """Logit of the question having no answer in the text.

    The mean of the tokens, weighted by the start probabilities, is concatenated with the
    first token. A dense layer with tanh, dropout with rate `dropout`, and a dense layer
    without bias follow.

    Input shape:
        `tokens` `(batch, sequence_length, hidden_dim)`; `start_probabilities` `(batch,
        sequence_length)`.

    Output shape:
        `(batch, 1)`, float32 with mixed precision.

    Reference: google-research/albert squad_utils.py `create_v2_model`, `answer_class`.
    """

    def __init__(self, albert_config, dropout, **kwargs):
        super().__init__(albert_config, **kwargs)
        self.hidden = self.dense(self.albert_config.hidden_dim, "hidden")
        self.dropout = Dropout(dropout, dtype=self.dtype_policy)
        self.output_dense = _one_output(self, use_bias=False)

    def build(self, tokens_shape, start_probabilities_shape=None):
        hidden_dim = self.albert_config.hidden_dim
        self.hidden.build((None, 2 * hidden_dim))
        self.output_dense.build((None, hidden_dim))

    def call(self, tokens, start_probabilities, training=False):
        start = ops.einsum("bl,blh->bh", start_probabilities, tokens)
        x = self.hidden(ops.concatenate([start, tokens[:, 0]], axis=-1))
        return self.output_dense(self.dropout(ops.tanh(x), training=training))

    def get_config(self):
        return {**super().get_config(), "dropout": self.dropout.rate}


@keras.saving.register_keras_serializable(package="albert_keras")
class MostProbable(keras.layers.Layer):
    """The most probable positions and their log-probabilities.

    Args:
        num_positions: int > 0. If there are fewer positions, all are returned.

    Input shape:
        Logits `(..., sequence_length)`.

    Output shape:
        Tuple of log-probabilities, of the logits' type, and positions, int32, both
        `(..., num_positions)`, in decreasing order of probability.
    """

    def __init__(self, num_positions, **kwargs):
        check_positive_integer("num_positions", num_positions)
        # Half precision cannot represent the masked logits.
        super().__init__(**{"autocast": False, **kwargs})
        self.num_positions = num_positions

    def call(self, logits):
        sequence_length = ops.shape(logits)[-1]
        choose = min if isinstance(sequence_length, int) else ops.minimum
        number = choose(self.num_positions, sequence_length)
        log_probs, positions = ops.top_k(ops.log_softmax(logits), number)
        return log_probs, ops.cast(positions, "int32")

    def compute_output_spec(self, logits):
        # Keras would trace `call` with symbolic lengths, which JAX cannot compare.
        *axes, sequence_length = logits.shape
        if sequence_length is not None:
            sequence_length = min(self.num_positions, sequence_length)
        shape = (*axes, sequence_length)
        return (
            keras.KerasTensor(shape, dtype=logits.dtype),
            keras.KerasTensor(shape, dtype="int32"),
        )

    def get_config(self):
        return {**super().get_config(), "num_positions": self.num_positions}


def _one_output(layer, use_bias=True):
    """Returns a dense layer of one output in full precision."""
    config, dtype = layer.albert_config, layer.variable_dtype
    return dense_layer(config, 1, dtype, "dense", use_bias=use_bias)


def _masked(logits, answer_mask):
    """Removes the last axis, of size 1, and sets masked logits to -1e30."""
    dtype = keras.backend.result_type(logits.dtype, "float32")
    logits = ops.cast(ops.squeeze(logits, -1), dtype)
    return ops.where(ops.cast(answer_mask, "bool"), logits, MASKED_LOGIT)
