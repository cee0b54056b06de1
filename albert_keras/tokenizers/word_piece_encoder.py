"""Text to WordPiece ids in plain Python, as the original BERT code makes them."""

import functools
import itertools

import numpy as np

from albert_keras.tokenizers import token_spans
from albert_keras.tokenizers.encoder import Encoder
from albert_keras.tokenizers.word_splitting import is_mark, split_words, word_boundaries
from albert_keras.tokenizers.word_table import EncodedWords, WordTable

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
CONTINUATION = "##"
MAX_WORD_LENGTH = 200


class WordPieceEncoder(Encoder):
    """Text to WordPiece ids, as the original BERT and ALBERT code makes them.

    Args:
        vocabulary: list of str, with `[PAD]`, `[UNK]`, `[CLS]`, `[SEP]` and `[MASK]`.
        lowercase: bool. Lower-cases and strips accents.
    """

    def __init__(self, vocabulary, *, lowercase):
        super().__init__(vocabulary, SPECIAL_TOKENS)
        self.lowercase = lowercase

    def tokenize_with_offsets(self, text):
        """Encodes one text and locates each token: see `EncoderTokenizer`."""
        spans = self._character_spans(text)
        ids, offsets = [], []
        end = 0
        for word in split_words(text, self.lowercase):
            word_ids = self._encode_word(word)
            ids.extend(word_ids)
            for length in self._token_lengths(word_ids, word):
                start, end = end, end + length
                offsets.append((spans[start][0], spans[end - 1][1]))
        return ids, offsets

    @functools.cached_property
    def word_starts(self):
        """Bool array `(vocabulary_size,)`: true where a token begins a word."""
        return np.array([not t.startswith(CONTINUATION) for t in self._vocabulary])

    def _encode_texts(self, texts):
        return [
            [
                index
                for word in split_words(text, self.lowercase)
                for index in self._encode_word(word)
            ]
            for text in texts
        ]

    def _make_word_table(self):
        return WordTable(word_boundaries(), self._encode_words)

    def _make_span_finder(self):
        lengths = [len(t.removeprefix(CONTINUATION)) for t in self._vocabulary]
        lengths[self.unk_token_id] = token_spans.THE_REST
        return token_spans.SpanFinder(
            self._classify_character, np.array(lengths), self.word_starts
        )

    def _classify_character(self, character):
        """Returns a character's kind, and how many characters of tokens it becomes."""
        words = split_words(f"a{character}a", self.lowercase)
        if words == ["a", "a"]:
            return token_spans.SPACE, 0
        if words == ["aa"] and is_mark(character):
            return token_spans.DROPPED, 0
        if len(words) == 1 and words != ["aa"]:
            return token_spans.JOINED, len(words[0]) - 2
        if len(words) == 3 and len(words[1]) == 1:
            return token_spans.ALONE, 1
        return token_spans.UNCERTAIN, 0

    def _encode_words(self, words, are_continued):
        # Boundaries are where the words of a text end, so that they cannot touch.
        rows = self._encode_texts(words)
        return EncodedWords(
            token_ids=np.array([*itertools.chain(*rows)], np.int32),
            num_tokens=np.array([len(row) for row in rows]),
            costs=np.zeros(len(words)),
            reaches=np.full(len(words), np.inf),
        )

    def _encode_word(self, word):
        """Covers a word with the longest tokens, left to right, or says unknown."""
        unknown = [self.unk_token_id]
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

    def _token_lengths(self, ids, word):
        if ids == [self.unk_token_id]:
            return [len(word)]
        first, *others = (self._vocabulary[index] for index in ids)
        return [len(first), *(len(t.removeprefix(CONTINUATION)) for t in others)]

    def _decode_rows(self, rows):
        texts = [" ".join(self._vocabulary[i] for i in row) for row in rows]
        return [text.replace(f" {CONTINUATION}", "") for text in texts]

    def _character_spans(self, text):
        """Finds where in `text` each character of its words, in a row, came from."""
        spans = []
        for position, character in enumerate(text):
            image = "".join(split_words(character, self.lowercase))
            spans.extend([(position, position + 1)] * len(image))
            if not image and spans and is_mark(character):
                spans[-1] = (spans[-1][0], position + 1)
        return spans
