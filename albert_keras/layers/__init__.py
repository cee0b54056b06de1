"""Keras layers of the ALBERT encoder and heads."""

from albert_keras.layers.attention import SelfAttention
from albert_keras.layers.attention_bias import attention_bias
from albert_keras.layers.embeddings import FactorizedEmbedding
from albert_keras.layers.encoder import EncoderStack, TransformerEncoder, build_encoders
from albert_keras.layers.feed_forward import FeedForward
from albert_keras.layers.heads import (
    ChoicesToRows,
    ExitHeads,
    MaskedLMHead,
    RowsToChoices,
)
from albert_keras.layers.span_heads import (
    EndLogits,
    MostProbable,
    StartLogits,
    UnanswerableLogit,
)
