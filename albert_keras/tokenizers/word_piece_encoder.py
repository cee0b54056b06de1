"""WordPiece encoder, by the library `tokenizers`."""

import functools

import numpy as np
import tokenizers

from albert_keras.tokenizers.encoder import Encoder, join_rows
from albert_keras.tokenizers.word_splitting import WordRules, is_mark, split_words

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
CONTINUATION = "##"
MAX_WORD_LENGTH = 200


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
        words = [" ".join(split_words(text, self.rules)) for text in texts]
        encodings = self.word_tokenizer.encode_batch_fast(words)
        return join_rows([encoding.ids for encoding in encodings])

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
