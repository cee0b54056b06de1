"""The bricks of the encoder, in the order data passes them."""

from albert_keras.layers.embeddings import FactorizedEmbedding
from albert_keras.layers.encoder import (
    FeedForward,
    SelfAttention,
    TransformerEncoder,
    build_encoder_stack,
)
from albert_keras.layers.heads import MaskedLMHead

__all__ = [
    "FactorizedEmbedding",
    "FeedForward",
    "MaskedLMHead",
    "SelfAttention",
    "TransformerEncoder",
    "build_encoder_stack",
]
