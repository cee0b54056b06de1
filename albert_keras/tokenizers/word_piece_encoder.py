"""WordPiece encoder in plain Python."""

import functools
import itertools

import numpy as np

from albert_keras.tokenizers.encoder import Encoder, join_rows
from albert_keras.tokenizers.word_splitting import WordRules, is_mark, split_words

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
CONTINUATION = "##"
MAX_WORD_LENGTH = 200

# Number of words whose ids are cached, about 15 MB. The first words of a corpus include
# the frequent ones, so that no word is ever removed.
MAX_KNOWN_WORDS = 2**16


class WordPieceEncoder(Encoder):
    """Encodes text as the WordPiece ids of the original BERT and ALBERT code.

    `vocabulary`, a list of str, and the options are those of `WordPieceTokenizer`.
    """

    def __init__(
        self, vocabulary, *, lowercase=True, strip_accents=None, split_chinese=True
    ):
        super().__init__(vocabulary, SPECIAL_TOKENS)
        strip_accents = lowercase if strip_accents is None else strip_accents
        self.rules = WordRules(lowercase, strip_accents, split_chinese)
        self.strips_accents = strip_accents
        self._longest_length = max(map(len, vocabulary))
        self._known_words = {}

    def __getstate__(self):
        # A worker process fills its cache as fast as it could receive one.
        return {**vars(self), "_known_words": {}}

    def tokenize_with_offsets(self, text):
        spans = self._character_spans(text)
        ids, offsets = [], []
        end = 0
        for word in split_words(text, self.rules):
            word_ids = self._encode_word(word)
            ids.extend(word_ids)
            for length in self._token_lengths(word_ids, word):
                start, end = end, end + length
                offsets.append((spans[start][0], spans[end - 1][1]))
        return ids, offsets

    def encode_with_masks(self, texts):
        """Encodes a list of str as lists of ids; `[MASK]` in them is the mask token."""
        mask = SPECIAL_TOKENS[-1]
        rows = []
        for text in texts:
            first, *others = self.encode_batch(text.split(mask))
            rows.append(sum(([self.mask_token_id, *part] for part in others), first))
        return rows

    @functools.cached_property
    def word_starts(self):
        """Bool array `(vocabulary_size,)`: true where a token begins a word."""
        return np.array([not t.startswith(CONTINUATION) for t in self._vocabulary])

    def _encode_part(self, texts):
        known, rows = self._known_words, []
        for text in texts:
            words = split_words(text, self.rules)
            of_words = [known.get(word) or self._encode_word(word) for word in words]
            rows.append([*itertools.chain.from_iterable(of_words)])
        return join_rows(rows)

    def _encode_word(self, word):
        """Returns the ids of a word, and caches them while there is room."""
        if len(word) > MAX_WORD_LENGTH:
            return [self.unk_token_id]
        ids = self._longest_tokens(word)
        if len(self._known_words) < MAX_KNOWN_WORDS:
            self._known_words[word] = ids
        return ids

    def _longest_tokens(self, word):
        """Covers a word with the longest tokens, from left to right."""
        ids = []
        start = 0
        while start < len(word):
            prefix = CONTINUATION if start else ""
            for end in range(min(len(word), start + self._longest_length), start, -1):
                index = self._ids.get(prefix + word[start:end])
                if index is not None:
                    break
            else:
                return [self.unk_token_id]
            ids.append(index)
            start = end
        return ids

    def _token_lengths(self, ids, word):
        if ids == [self.unk_token_id]:
            return [len(word)]
        first, *others = (self._vocabulary[index] for index in ids)
        return [len(first), *(len(t.removeprefix(CONTINUATION)) for t in others)]

    def _decode_rows(self, rows):
        texts = [" ".join(self._vocabulary[i] for i in row) for row in rows]
        return [text.replace(f" {CONTINUATION}", "") for text in texts]

    def _character_spans(self, text):
        """Returns the `(start, end)` in `text` of each character of its joined words."""
        spans = []
        for position, character in enumerate(text):
            image = "".join(split_words(character, self.rules))
            spans.extend([(position, position + 1)] * len(image))
            if not image and spans and is_mark(character):
                spans[-1] = (spans[-1][0], position + 1)
        return spans
