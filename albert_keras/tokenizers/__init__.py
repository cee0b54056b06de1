"""Text to token ids and back, in Python and in the TensorFlow graph.

The encoders need neither Keras nor TensorFlow; the tokenizers, Keras layers, have them.
"""

from albert_keras.lazy import lazy_names

_HOMES = {
    "AlbertTokenizer": "albert_keras.tokenizers.sentence_piece",
    "SentencePieceEncoder": "albert_keras.tokenizers.sentence_piece_encoder",
    "WordPieceEncoder": "albert_keras.tokenizers.word_piece_encoder",
    "WordPieceTokenizer": "albert_keras.tokenizers.word_piece",
    "load_tokenizer": "albert_keras.tokenizers.loading",
    "preprocess_text": "albert_keras.tokenizers.normalization",
    "train_sentence_piece": "albert_keras.tokenizers.vocabulary",
}

__all__ = list(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
