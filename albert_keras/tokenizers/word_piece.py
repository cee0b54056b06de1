"""BERT's WordPiece tokenizer, for Chinese ALBERT: in Python and in the graph."""

import functools
import os
import pathlib
import re
import unicodedata

import keras
import numpy as np

from albert_keras.files import atomic_path
from albert_keras.tokenizers.base import Encoder, EncoderTokenizer
from albert_keras.tokenizers.normalization import code_points

VOCABULARY_FILE = "vocabulary.txt"
SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
CONTINUATION = "##"
MAX_WORD_LENGTH = 200

# The blocks that Google's `_is_chinese_char` names, Hangul and kana not among them.
_CHINESE = (
    "[\u4e00-\u9fff\u3400-\u4dbf\U00020000-\U0002a6df\U0002a700-\U0002b73f"
    "\U0002b740-\U0002b81f\U0002b820-\U0002ceaf\uf900-\ufaff\U0002f800-\U0002fa1f]"
)


class WordPieceEncoder(Encoder):
    """Text to WordPiece ids, as the original BERT and ALBERT code makes them.

    Args:
        vocabulary: list of str, with `[PAD]`, `[UNK]`, `[CLS]`, `[SEP]` and `[MASK]`.
        lowercase: bool. Lower-cases and strips accents.
    """

    def __init__(self, vocabulary, *, lowercase):
        super().__init__(vocabulary, SPECIAL_TOKENS)
        self.lowercase = lowercase
        self._known_words = {}

    def tokenize_with_offsets(self, text):
        """Encodes one text and locates each token: see `EncoderTokenizer`."""
        spans = self._character_spans(text)
        ids, offsets = [], []
        end = 0
        for word in split_words(text, self.lowercase):
            word_ids = self._encode_word(word)
            ids.extend(word_ids)
            if word_ids == [self.special_token_ids[1]]:
                lengths = [len(word)]
            else:
                tokens = [self.vocabulary[index] for index in word_ids]
                lengths = [len(tokens[0])]
                lengths += [len(t.removeprefix(CONTINUATION)) for t in tokens[1:]]
            for length in lengths:
                start, end = end, end + length
                offsets.append((spans[start][0], spans[end - 1][1]))
        return ids, offsets

    @functools.cached_property
    def word_starts(self):
        """Bool array `(vocabulary_size,)`: true where a token begins a word."""
        return np.array([not t.startswith(CONTINUATION) for t in self.vocabulary])

    def _encode_texts(self, texts):
        return [
            [
                index
                for word in split_words(text, self.lowercase)
                for index in self._encode_word(word)
            ]
            for text in texts
        ]

    def _encode_word(self, word):
        """Covers a word greedily with the longest tokens, or gives the unknown token."""
        unknown = [self.special_token_ids[1]]
        if len(word) > MAX_WORD_LENGTH:
            return unknown
        ids = []
        start = 0
        while start < len(word):
            prefix = CONTINUATION if start else ""
            for end in range(len(word), start, -1):
                index = self._ids.get(prefix + word[start:end])
                if index is not None:
                    break
            else:
                return unknown
            ids.append(index)
            start = end
        return ids

    def _decode_rows(self, rows):
        texts = [" ".join(self.vocabulary[i] for i in row) for row in rows]
        return [text.replace(f" {CONTINUATION}", "") for text in texts]

    def _character_spans(self, text):
        """Finds where in `text` each character of its words, in a row, came from."""
        spans = []
        for position, character in enumerate(text):
            image = "".join(split_words(character, self.lowercase))
            spans.extend([(position, position + 1)] * len(image))
            if not image and spans and _is_mark(character):
                spans[-1] = (spans[-1][0], position + 1)
        return spans
