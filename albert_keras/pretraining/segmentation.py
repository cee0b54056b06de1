"""Word segmenters for Chinese, in which each character is a token."""

import functools
import itertools
import re
import warnings

import numpy as np

from albert_keras.checks import import_optional
from albert_keras.tokenizers.word_piece_encoder import WordPieceEncoder
from albert_keras.tokenizers.word_splitting import CHINESE


def make_segmenter(name, encoder):
    """Builds a segmenter by its name, a key of `SEGMENTERS`, or returns `None`."""
    return SEGMENTERS[name](encoder) if name else None


class JiebaSegmenter:
    """Encodes texts by a `WordPieceEncoder` and finds the words of Chinese.

    A call with a list of str returns the two arrays of `Encoder.encode_ragged`, and bool
    `(num_tokens,)`, whether each token begins a word. jieba decides for tokens of one
    Chinese character, the vocabulary's `##` for others.

    Reference: brightmart/albert_zh create_pretraining_data.py `get_new_segment`, which
    marks later characters of a word with `##`. Unlike there, words may be longer than
    three characters, and only jieba's words count.
    """

    def __init__(self, encoder):
        if not isinstance(encoder, WordPieceEncoder):
            raise ValueError(
                "`word_segmenter` needs a WordPiece vocabulary of Chinese characters. "
                f"Received: a {type(encoder).__name__}. "
                "Leave `word_segmenter` out, or use a WordPiece vocabulary."
            )
        self._encoder = encoder
        self._tokens = np.array(encoder.get_vocabulary(), object)
        self._is_chinese = np.array(
            [re.fullmatch(CHINESE, token) is not None for token in self._tokens]
        )
        self._cut = _load_jieba()

    def __call__(self, texts):
        token_ids, offsets = self._encoder.encode_ragged(texts)
        word_starts = self._encoder.word_starts[token_ids]
        chinese = np.flatnonzero(self._is_chinese[token_ids])
        characters = "".join(self._tokens[token_ids[chinese]])
        # A phrase of Chinese characters ends at another token or at the end of its text.
        begins = (np.diff(chinese, prepend=-2) > 1) | np.isin(chinese, offsets)
        bounds = [*np.flatnonzero(begins), len(chinese)]
        phrases = [characters[start:end] for start, end in itertools.pairwise(bounds)]
        words = itertools.chain.from_iterable(map(self._cut, phrases))
        lengths = np.array([*map(len, words)], int)
        word_starts[chinese] = False
        word_starts[chinese[np.cumsum(lengths) - lengths]] = True
        return token_ids, offsets, word_starts


SEGMENTERS = {"jieba": JiebaSegmenter}


@functools.cache
def _load_jieba():
    """Returns jieba's function that splits a text into a list of words."""
    with warnings.catch_warnings():
        # Its patterns have invalid escapes, and it imports pkg_resources.
        warnings.simplefilter("ignore")
        jieba = import_optional("jieba", "chinese")
    tokenizer = jieba.Tokenizer()
    # Otherwise jieba writes to standard error, and reads and writes a cache in the
    # temporary folder, where another user may have put a file.
    frequencies = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.FREQ, tokenizer.total = frequencies
    tokenizer.initialized = True
    return tokenizer.lcut
