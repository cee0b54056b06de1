"""Heads for masked words, early exits and multiple choice."""

import keras
from keras import ops

from albert_keras.layers.activations import activate
from albert_keras.layers.configured import ConfiguredLayer, truncated_normal
from albert_keras.layers.positions import take_tokens


@keras.saving.register_keras_serializable(package="albert_keras")
class MaskedLMHead(ConfiguredLayer):
    """Logits over the vocabulary at masked positions, with the tied token table.

    It replaces keras-hub's head, whose layer normalization has another epsilon, and
    which fails inside a model with a global `mixed_bfloat16` policy.

    Args:
        token_embedding: The backbone's token embedding, whose table is shared.

    Input shape:
        `sequence_output` `(batch, sequence_length, hidden_dim)`; `mask_positions`,
        integers, `(batch, num_predictions)`.

    Output shape:
        `(batch, num_predictions, vocabulary_size)`, float32 with mixed precision.

    Reference: google-research/albert run_pretraining.py `get_masked_lm_output`.
    """

    def __init__(self, albert_config, token_embedding, **kwargs):
        super().__init__(albert_config, **kwargs)
        config = self.albert_config
        if isinstance(token_embedding, dict):
            # A saved layer is loaded.
            token_embedding = keras.layers.deserialize(token_embedding)
        self.token_embedding = token_embedding
        self.transform = self.dense(config.embedding_dim, "transform")
        self.normalization = self.layer_norm()

    def build(self, sequence_output_shape, mask_positions_shape=None):
        config = self.albert_config
        self.transform.build((None, None, config.hidden_dim))
        self.normalization.build((None, None, config.embedding_dim))
        self.output_bias = self.add_weight(
            name="output_bias", shape=(config.vocabulary_size,), initializer="zeros"
        )

    def get_config(self):
        token_embedding = keras.layers.serialize(self.token_embedding)
        return {**super().get_config(), "token_embedding": token_embedding}

    def call(self, sequence_output, mask_positions, training=False):
        # (batch, num_predictions, hidden_dim)
        masked = take_tokens(sequence_output, mask_positions)
        activation = self.albert_config.activation
        x = activate(activation, self.transform(masked), training)
        # (batch, num_predictions, embedding_dim)
        x = self.normalization(x)
        logits = self.token_embedding(x, reverse=True)
        # Losses over a whole vocabulary need at least float32.
        dtype = keras.backend.result_type(logits.dtype, "float32")
        return ops.cast(logits, dtype) + ops.cast(self.output_bias, dtype)


@keras.saving.register_keras_serializable(package="albert_keras")
class ExitHeads(ConfiguredLayer):
    """A dense layer for each depth except the last, which has the model's own head.

    Args:
        num_classes: int. Units of each dense layer.

    Input shape:
        Pooled outputs `(batch, num_layers - 1, hidden_dim)`.

    Output shape:
        Logits `(batch, num_layers - 1, num_classes)`.
    """

    def __init__(self, albert_config, num_classes, **kwargs):
        super().__init__(albert_config, **kwargs)
        self.num_classes = num_classes

    def build(self, pooled_shape):
        _, num_exits, hidden_dim = pooled_shape
        self.kernel = self.add_weight(
            name="kernel",
            shape=(num_exits, hidden_dim, self.num_classes),
            initializer=truncated_normal(self.albert_config),
        )
        self.bias = self.add_weight(
            name="bias", shape=(num_exits, self.num_classes), initializer="zeros"
        )

    def call(self, pooled):
        return ops.einsum("bdh,dhc->bdc", pooled, self.kernel) + self.bias

    def get_config(self):
        return {**super().get_config(), "num_classes": self.num_classes}


@keras.saving.register_keras_serializable(package="albert_keras")
class ChoicesToRows(keras.layers.Layer):
    """Makes a row of each choice of multiple-choice examples.

    Input shape:
        `(batch, num_choices, sequence_length)`.

    Output shape:
        `(batch * num_choices, sequence_length)`.
    """

    def call(self, x):
        return ops.reshape(x, (-1, ops.shape(x)[2]))


@keras.saving.register_keras_serializable(package="albert_keras")
class RowsToChoices(keras.layers.Layer):
    """Puts the scores of the choices of each example back into one row.

    Input shape:
        Scores `(batch * num_choices, 1)`, and any tensor `(batch, num_choices, ...)`.

    Output shape:
        `(batch, num_choices)`.
    """

    def call(self, scores, choices):
        return ops.reshape(scores, (-1, ops.shape(choices)[1]))
