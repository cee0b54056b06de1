"""SentencePiece encoder in plain Python."""

import functools
import re

import numpy as np

from albert_keras.tokenizers import normalization, sentence_piece_model
from albert_keras.tokenizers.encoder import Encoder, join_rows
from albert_keras.tokenizers.sentence_piece_model import (
    MASK,
    MASK_CHARACTER,
    WORD_MARKER,
)

SPECIAL_PIECES = ("<pad>", "<unk>", "[CLS]", "[SEP]", MASK)

# For each list, SentencePiece starts a thread per processor. That takes 0.3 ms, the time
# to encode about so many characters one text at a time.
FEWEST_FOR_THREADS = 3000

# The punctuation of Google's `_is_start_piece_sp`, which lacks `'`, `<`, `=` and `>`.
_WORD_START_MARKS = frozenset('!"#$%&()*+,-./:;?@[\\]^_`{|}~')
_WORD_CHARACTERS = _WORD_START_MARKS | frozenset("abcdefghijklmnopqrstuvwxyz")


class SentencePieceEncoder(Encoder):
    """Encodes text as the SentencePiece ids of the original ALBERT code.

    `proto` is the bytes of a model; the options are those of `AlbertTokenizer`.
    """

    def __init__(self, proto, *, split_digit_comma, mask_in_text, **preprocessing):
        self._decoder = sentence_piece_model.load_processor(proto)
        pieces = self._decoder.IdToPiece(list(range(len(self._decoder))))
        super().__init__(pieces, SPECIAL_PIECES)
        self.proto = proto
        # In the order of the arguments of `preprocess_text`.
        names = ("lowercase", "strip_accents", "huggingface_quotes")
        self.preprocessing = {name: preprocessing[name] for name in names}
        self.strips_accents = preprocessing["strip_accents"]
        self.split_digit_comma = split_digit_comma
        self.mask_in_text = mask_in_text
        if mask_in_text:
            proto = sentence_piece_model.with_mask_for_text(proto)
            self._decoder = sentence_piece_model.load_processor(proto)
        if split_digit_comma:
            proto = sentence_piece_model.with_split_digit_commas(proto, pieces)
        self.running_proto = proto
        self._processor = sentence_piece_model.load_processor(self.running_proto)

    def tokenize_with_offsets(self, text):
        located = text
        if "Σ" in text and self.preprocessing["lowercase"]:
            pattern = normalization.final_sigma_pattern()
            located = re.sub(pattern, normalization.FINAL_SIGMA, text)
        encoded = self._locator.EncodeAsOffsetMapping(located)
        invisible = sentence_piece_model.invisible_characters(self.proto)
        offsets, previous_end = [], 0
        for piece, (start, end) in zip(encoded["ids"], encoded["offsets"], strict=True):
            if found := self.found_lengths[piece]:
                start, end = end, end + found
            start, previous_end = max(start, previous_end), end
            start, end = _trim(text, start, end, invisible)
            if start == end and piece != self.marker_id:
                end += 1  # Several pieces of one character.
            offsets.append((start, end))
        return encoded["ids"], offsets

    def encode_with_masks(self, texts):
        """Encodes a list of str as lists of ids; `[MASK]` in them is the mask token."""
        return self._reading_masks.encode_batch(texts)

    @functools.cached_property
    def _reading_masks(self):
        if self.mask_in_text:
            return self
        options = {**self.preprocessing, "split_digit_comma": self.split_digit_comma}
        return SentencePieceEncoder(self.proto, **options, mask_in_text=True)

    @functools.cached_property
    def _locator(self):
        """A processor that locates pieces in text before preprocessing."""
        return sentence_piece_model.load_processor(self.fused_proto())

    @functools.cached_property
    def found_lengths(self):
        """The characters of each added token that is found anywhere, 0 of other pieces.

        SentencePiece ends these tokens where they start, and counts their characters to
        the next token.
        """
        return sentence_piece_model.found_lengths(self.running_proto)

    @property
    def marker_id(self):
        """The id of the piece that is a marker alone, without characters, or -1."""
        return self._ids.get(WORD_MARKER, -1)

    @functools.cached_property
    def word_starts(self):
        """Bool array `(vocabulary_size,)`: true where a piece begins a word.

        Special pieces count as words. Reference: google-research/albert
        `create_pretraining_data.py`, `_is_start_piece_sp`.
        """
        special = frozenset(self.special_tokens)
        return np.array([p in special or _starts_word(p) for p in self._vocabulary])

    def fused_proto(self):
        """Returns the bytes of a model with ALBERT's preprocessing compiled in.

        The model gives the ids of `encode_batch`, except for text with a Greek final
        sigma.
        """
        replacements = ((MASK, f" {MASK_CHARACTER}"),) if self.mask_in_text else ()
        return sentence_piece_model.with_preprocessing(
            self.running_proto, replacements, **self.preprocessing
        )

    def _encode_part(self, texts):
        options = tuple(self.preprocessing.values())  # As keywords they are slower.
        if self.mask_in_text:
            texts = (text.replace(MASK, f" {MASK_CHARACTER}") for text in texts)
        prepared = [normalization.preprocess_text(text, *options) for text in texts]
        return join_rows(_call_with_each(self._processor.Encode, prepared))

    def _decode_rows(self, rows):
        texts = _call_with_each(self._decoder.Decode, rows)
        return [text.replace(MASK_CHARACTER, MASK) for text in texts]


def _call_with_each(function, items):
    """Calls a function of SentencePiece with each item, or with all; returns a list."""
    if sum(map(len, items)) < FEWEST_FOR_THREADS:
        return [function(item) for item in items]
    return function(items)


def _starts_word(piece):
    return (
        piece.startswith((WORD_MARKER, "<"))
        or piece in _WORD_START_MARKS
        or not all(character.lower() in _WORD_CHARACTERS for character in piece)
    )


def _trim(text, start, end, characters):
    """Returns `(start, end)` without `characters` at both ends of `text[start:end]`."""
    span = text[start:end]
    start += len(span) - len(span.lstrip(characters))
    return start, start + len(span.strip(characters))
