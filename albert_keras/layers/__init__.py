"""The bricks of the encoder, in the order data passes them."""

from albert_keras.layers.choices import ChoicesToRows, RowsToChoices
from albert_keras.layers.embeddings import FactorizedEmbedding
from albert_keras.layers.encoder import (
    FeedForward,
    SelfAttention,
    TransformerEncoder,
    build_encoder_stack,
)
from albert_keras.layers.heads import MaskedLMHead

__all__ = [
    "ChoicesToRows",
    "FactorizedEmbedding",
    "FeedForward",
    "MaskedLMHead",
    "RowsToChoices",
    "SelfAttention",
    "TransformerEncoder",
    "build_encoder_stack",
]
