"""Factorized embedding: tables narrower than the encoder, then a projection."""

import keras
import keras_hub

from albert_keras.layers.configured import ConfiguredLayer, truncated_normal
from albert_keras.layers.positions import take_tokens
from albert_keras.layers.seeds import Dropout


@keras.saving.register_keras_serializable(package="albert_keras")
class FactorizedEmbedding(ConfiguredLayer):
    """Sum of token, position and segment embeddings of width E, projected to width H.

    As in the original, the sum, layer normalization and dropout have width E; then
    follows the projection, with a bias. There is no projection if E equals H, unless the
    config has `always_project_embeddings`.

    Input shape:
        `token_ids` and `segment_ids`, integers, `(batch, sequence_length)`;
        `position_ids` of the same shape, or `None` for 0, 1, 2, ... in each row.

    Output shape:
        `(batch, sequence_length, hidden_dim)`.

    Reference: Lan et al. 2020, section 3.1 "Factorized embedding parameterization".
    """

    def __init__(self, albert_config, **kwargs):
        super().__init__(albert_config, **kwargs)
        config = self.albert_config
        self.token_embedding = keras.layers.ReversibleEmbedding(
            config.vocabulary_size,
            config.embedding_dim,
            embeddings_initializer=truncated_normal(config),
            dtype=self.dtype_policy,
            name="token_embedding",
        )
        self.segment_embedding = keras.layers.Embedding(
            config.num_segments,
            config.embedding_dim,
            embeddings_initializer=truncated_normal(config),
            dtype=self.dtype_policy,
            name="segment_embedding",
        )
        self.position_embedding = keras_hub.layers.PositionEmbedding(
            config.max_sequence_length,
            initializer=truncated_normal(config),
            dtype=self.dtype_policy,
            name="position_embedding",
        )
        self.normalization = self.layer_norm()
        self.dropout = Dropout(config.dropout, dtype=self.dtype_policy)
        self.projection = None
        if config.projects_embeddings:
            self.projection = self.dense(config.hidden_dim, "projection")

    def build(self, token_ids_shape, segment_ids_shape=None):
        config = self.albert_config
        ids_shape = (None, config.max_sequence_length)
        embedded_shape = (*ids_shape, config.embedding_dim)
        self.token_embedding.build(ids_shape)
        self.segment_embedding.build(ids_shape)
        self.position_embedding.build(embedded_shape)
        self.normalization.build(embedded_shape)
        if self.projection is not None:
            self.projection.build(embedded_shape)

    def call(self, token_ids, segment_ids, position_ids=None, training=False):
        sequence_length = token_ids.shape[1]
        longest = self.albert_config.max_sequence_length
        if sequence_length is not None and sequence_length > longest:
            raise ValueError(
                "The sequence is longer than the position table. Received: "
                f"sequence_length={sequence_length}, max_sequence_length={longest}. "
                "Truncate the input, or build the model with more positions."
            )
        # (batch, sequence_length, embedding_dim) each
        tokens = self.token_embedding(token_ids)
        positions = self.position_embedding(tokens)
        if position_ids is not None:
            # A lookup in the table would have a gradient of slices. The clipping norm
            # counts each slice, so it would differ from the norm of unpacked rows.
            positions = take_tokens(positions, position_ids)
        x = tokens + positions + self.segment_embedding(segment_ids)
        x = self.dropout(self.normalization(x), training=training)
        return x if self.projection is None else self.projection(x)

    def compute_output_shape(self, token_ids_shape, segment_ids_shape=None):
        return (*token_ids_shape, self.albert_config.hidden_dim)
