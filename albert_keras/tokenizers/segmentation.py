"""Word segmenters for Chinese, whose characters are tokens of their own."""

import functools
import itertools
import re
import warnings

import numpy as np

from albert_keras.checks import check_choice, import_optional
from albert_keras.tokenizers.word_piece_encoder import WordPieceEncoder
from albert_keras.tokenizers.word_splitting import CHINESE


def make_segmenter(name, encoder):
    """Builds a segmenter by its name, a key of `SEGMENTERS`; `None` gives `None`."""
    if name is None:
        return None
    check_choice("word_segmenter", name, SEGMENTERS)
    return SEGMENTERS[name](encoder)


class JiebaSegmenter:
    """Encodes texts by a `WordPieceEncoder` and finds the words of Chinese.

    A call with a list of str returns the two arrays of `Encoder.encode_ragged`, and
    whether each token begins a word, bool `(num_tokens,)`: by jieba for Chinese
    characters that are tokens, by the vocabulary's `##` for others.

    Reference: brightmart/albert_zh create_pretraining_data.py `get_new_segment`, which
    marks later characters of a word with `##`; differs in that words may be longer than
    three characters, and only jieba's words count.
    """

    def __init__(self, encoder):
        if not isinstance(encoder, WordPieceEncoder):
            raise ValueError(
                "Chinese words are found among the characters of a WordPiece vocabulary. "
                f"Received: a {type(encoder).__name__}. "
                "Leave `word_segmenter` out, or take a WordPiece vocabulary."
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
        # A run of Chinese characters ends at another token and at the end of its text.
        begins_run = (np.diff(chinese, prepend=-2) > 1) | np.isin(chinese, offsets)
        bounds = [*np.flatnonzero(begins_run), len(chinese)]
        runs = [characters[start:end] for start, end in itertools.pairwise(bounds)]
        lengths = np.array([len(word) for run in runs for word in self._cut(run)], int)
        word_starts[chinese] = False
        word_starts[chinese[np.cumsum(lengths) - lengths]] = True
        return token_ids, offsets, word_starts


SEGMENTERS = {"jieba": JiebaSegmenter}


@functools.cache
def _load_jieba():
    """Returns jieba's function that splits a text into a list of words."""
    with warnings.catch_warnings():
        # Invalid escapes in its patterns, and its import of pkg_resources.
        warnings.simplefilter("ignore")
        jieba = import_optional("jieba", "chinese")
    tokenizer = jieba.Tokenizer()
    # Otherwise jieba writes to standard error, and a cache to the temporary folder, from
    # which it would load a file that another user put there.
    frequencies = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.FREQ, tokenizer.total = frequencies
    tokenizer.initialized = True
    return tokenizer.lcut
