"""Text to token ids and back, in Python and in the TensorFlow graph."""

from albert_keras.tokenizers.normalization import preprocess_text
from albert_keras.tokenizers.sentence_piece import AlbertTokenizer

__all__ = [
    "AlbertTokenizer",
    "preprocess_text",
]
