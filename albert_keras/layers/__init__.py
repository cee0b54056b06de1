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
from albert_keras.layers.span_heads import (
    EndLogits,
    MostProbable,
    StartLogits,
    UnanswerableLogit,
)

__all__ = [
    "ChoicesToRows",
    "EndLogits",
    "FactorizedEmbedding",
    "FeedForward",
    "MaskedLMHead",
    "MostProbable",
    "RowsToChoices",
    "SelfAttention",
    "StartLogits",
    "TransformerEncoder",
    "UnanswerableLogit",
    "build_encoder_stack",
]
