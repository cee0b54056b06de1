"""Text to token ids and back, in Python and in the TensorFlow graph."""

from albert_keras.tokenizers.normalization import preprocess_text
from albert_keras.tokenizers.sentence_piece import AlbertTokenizer, SentencePieceEncoder
from albert_keras.tokenizers.vocabulary import train_sentence_piece
from albert_keras.tokenizers.word_piece import WordPieceEncoder, WordPieceTokenizer

__all__ = [
    "AlbertTokenizer",
    "SentencePieceEncoder",
    "WordPieceEncoder",
    "WordPieceTokenizer",
    "preprocess_text",
    "train_sentence_piece",
]
