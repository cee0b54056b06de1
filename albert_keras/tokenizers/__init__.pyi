from .loading import load_tokenizer as load_tokenizer
from .normalization import preprocess_text as preprocess_text
from .sentence_piece import AlbertTokenizer as AlbertTokenizer
from .sentence_piece_encoder import SentencePieceEncoder as SentencePieceEncoder
from .vocabulary import train_sentence_piece as train_sentence_piece
from .word_piece import WordPieceTokenizer as WordPieceTokenizer
from .word_piece_encoder import WordPieceEncoder as WordPieceEncoder
