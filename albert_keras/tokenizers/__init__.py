"""Text to token ids and back, in Python and in the TensorFlow graph.

The encoders need neither Keras nor TensorFlow; the tokenizers, Keras layers, have them.
"""

from typing import TYPE_CHECKING

from albert_keras.lazy import lazy_names

if TYPE_CHECKING:
    from albert_keras.tokenizers.loading import load_tokenizer
    from albert_keras.tokenizers.normalization import preprocess_text
    from albert_keras.tokenizers.sentence_piece import AlbertTokenizer
    from albert_keras.tokenizers.sentence_piece_encoder import SentencePieceEncoder
    from albert_keras.tokenizers.vocabulary import train_sentence_piece
    from albert_keras.tokenizers.word_piece import WordPieceTokenizer
    from albert_keras.tokenizers.word_piece_encoder import WordPieceEncoder

__getattr__, __dir__, __all__ = lazy_names(__spec__)
