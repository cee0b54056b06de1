"""WordPiece encoder, by the library `tokenizers`."""

import functools
import itertools

import numpy as np
import tokenizers

from albert_keras.tokenizers.encoder import Encoder, join_rows
from albert_keras.tokenizers.word_splitting import WordRules, is_mark, split_words

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
CONTINUATION = "##"
MAX_WORD_LENGTH = 200
# Words whose ids are remembered, about 15 MB. The library alone takes 2.5 times as long.
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
        model = tokenizers.models.WordPiece(
            self._ids,
            unk_token=SPECIAL_TOKENS[1],
            max_input_chars_per_word=MAX_WORD_LENGTH,
            continuing_subword_prefix=CONTINUATION,
        )
        self.word_tokenizer = tokenizers.Tokenizer(model)
        self.word_tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
        self._known_words = {}

    def tokenize_with_offsets(self, text):
        words = " ".join(split_words(text, self.rules))
        encoding = self.word_tokenizer.encode(words)
        spans = self._character_spans(text)
        offsets = [
            # Without the spaces between the words.
            (spans[start - num_spaces][0], spans[end - num_spaces - 1][1])
            for num_spaces, (start, end) in zip(
                encoding.word_ids, encoding.offsets, strict=True
            )
        ]
        return encoding.ids, offsets

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
            ids = [known.get(word) or self._encode_word(word) for word in words]
            rows.append([*itertools.chain.from_iterable(ids)])
        return join_rows(rows)

    def _encode_word(self, word):
        """Returns the ids of a word; remembers them if it is short and there is room."""
        ids = self.word_tokenizer.encode(word).ids
        if len(word) <= MAX_WORD_LENGTH and len(self._known_words) < MAX_KNOWN_WORDS:
            self._known_words[word] = ids
        return ids

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
