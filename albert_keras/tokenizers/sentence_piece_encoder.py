"""SentencePiece encoder in plain Python."""

import functools
import itertools

import numpy as np

from albert_keras.tokenizers import normalization, sentence_piece_model
from albert_keras.tokenizers.encoder import Encoder, join_rows
from albert_keras.tokenizers.ragged import offsets_of
from albert_keras.tokenizers.sentence_piece_model import (
    MASK,
    MASK_CHARACTER,
    WORD_MARKER,
)

SPECIAL_PIECES = ("<pad>", "<unk>", "[CLS]", "[SEP]", MASK)

# As long as "[MASK]", so that offsets do not change.
MASK_STAND_IN = MASK_CHARACTER.rjust(len(MASK))

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
        processor = sentence_piece_model.load_processor(proto)
        pieces = processor.IdToPiece(list(range(len(processor))))
        super().__init__(pieces, SPECIAL_PIECES)
        self.proto = proto
        # In the order of the arguments of `preprocess_text`.
        names = ("lowercase", "strip_accents", "huggingface_quotes")
        self.preprocessing = {name: preprocessing[name] for name in names}
        self.strips_accents = preprocessing["strip_accents"]
        self.split_digit_comma = split_digit_comma
        self.mask_in_text = mask_in_text
        self.running_proto = proto
        if mask_in_text:
            self.running_proto = sentence_piece_model.with_mask_for_text(proto)
        self._processor = sentence_piece_model.load_processor(self.running_proto)
        self.digit_comma_parts = self._find_digit_commas() if split_digit_comma else {}
        self.digit_comma_splits = {
            index: [new_index for new_index, _, _ in parts]
            for index, parts in self.digit_comma_parts.items()
        }
        self._is_digit_comma = np.zeros(len(pieces), bool)  # (vocabulary_size,)
        self._is_digit_comma[list(self.digit_comma_splits)] = True

    def tokenize_with_offsets(self, text):
        text = self._stand_in_masks(text)
        options = self.preprocessing
        prepared, spans = normalization.preprocess_with_spans(text, **options)
        encoded = self._processor.EncodeAsOffsetMapping(prepared)
        ids, offsets, previous_end = [], [], 0
        for index, (start, end) in zip(encoded["ids"], encoded["offsets"], strict=True):
            if index in self.found_lengths:
                start, end = end, end + self.found_lengths[index]
            start, end = _trim(prepared, max(start, previous_end), end, self.invisible)
            previous_end = end
            ids.extend(self.digit_comma_splits.get(index, [index]))
            for part_start, part_end in self._locate_parts(index, prepared[start:end]):
                offset = _original_span(spans, start + part_start, start + part_end)
                offsets.append(offset)
            if index == self.mask_token_id:
                offsets[-1] = (offsets[-1][0] - len(MASK) + 1, offsets[-1][1])
        return ids, offsets

    def encode_with_masks(self, texts):
        """Encodes a list of str as lists of ids; `[MASK]` in them is the mask token."""
        return self._reading_masks.encode_batch(texts)

    @functools.cached_property
    def _reading_masks(self):
        if self.mask_in_text:
            return self
        return SentencePieceEncoder(
            self.proto,
            **self.preprocessing,
            split_digit_comma=self.split_digit_comma,
            mask_in_text=True,
        )

    @property
    def invisible(self):
        """Characters that are cut off at both ends of a token's span, a str."""
        return sentence_piece_model.invisible_characters(self.proto)

    @functools.cached_property
    def found_lengths(self):
        """Number of characters of each added token that is found anywhere, a dict by id.

        SentencePiece ends these tokens where they start, and counts their characters to
        the next token.
        """
        return sentence_piece_model.found_lengths(self.running_proto)

    @functools.cached_property
    def piece_lengths(self):
        """Characters of each piece, int64 `(vocabulary_size,)`, 1 for the unknown one."""
        lengths = np.array([*map(len, self._vocabulary)], np.int64)
        lengths[self.unk_token_id] = 1
        return lengths

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

        TFLite needs it, which runs SentencePiece but no other string operation. The model
        gives the ids of `encode_batch` before the digit-comma rule, except for text with
        a Greek final sigma.
        """
        replacements = ((MASK, f" {MASK_CHARACTER}"),) if self.mask_in_text else ()
        return sentence_piece_model.with_preprocessing(
            self.running_proto, replacements, **self.preprocessing
        )

    def _encode_part(self, texts):
        options = tuple(self.preprocessing.values())  # As keywords they are slower.
        if self.mask_in_text:
            texts = map(self._stand_in_masks, texts)
        prepared = [normalization.preprocess_text(text, *options) for text in texts]
        rows = _call_with_each(self._processor.Encode, prepared)
        return self._split_digit_commas(*join_rows(rows))

    def _decode_rows(self, rows):
        texts = _call_with_each(self._processor.Decode, rows)
        return [text.replace(MASK_CHARACTER, MASK) for text in texts]

    def _stand_in_masks(self, text):
        return text.replace(MASK, MASK_STAND_IN) if self.mask_in_text else text

    def _split_digit_commas(self, token_ids, num_tokens):
        """Applies `digit_comma_splits` to the ids of several texts in a row."""
        is_split = self._is_digit_comma[token_ids]  # (num_tokens,)
        if not is_split.any():
            return token_ids, num_tokens
        parts = [self.digit_comma_splits[i] for i in token_ids[is_split].tolist()]
        num_parts = np.ones(len(token_ids), np.int64)  # (num_tokens,)
        num_parts[is_split] = [len(part) for part in parts]
        new_ids = np.repeat(token_ids, num_parts)  # (num_new_tokens,)
        new_ids[np.repeat(is_split, num_parts)] = [*itertools.chain(*parts)]
        # Offsets of the texts among the new ids.
        offsets = offsets_of(num_parts)[offsets_of(num_tokens)]  # (num_texts + 1,)
        return new_ids, np.diff(offsets)

    def _find_digit_commas(self):
        """Finds pieces such as `▁2012,` and the pieces that replace them.

        Returns a dict from an id to a list of tuples of a new id, and the numbers of
        characters from the new piece's start and end to the end of the old one.

        Google's code encodes such a piece again in each text, but the result depends on
        the piece alone. A word marker that the second encoding adds is removed, as in
        transformers. Google's code intends it, but in Python 3 compares bytes with str.
        """
        found = {}
        for index, piece in enumerate(self._vocabulary):
            if len(piece) > 1 and piece[-1] == "," and piece[-2].isdigit():
                text = piece[:-1].replace(WORD_MARKER, "")
                head = self._processor.EncodeAsPieces(text)
                if not piece.startswith(WORD_MARKER):
                    head[0] = head[0].removeprefix(WORD_MARKER)
                head[-1] = head[-1].removesuffix(WORD_MARKER)
                found[index] = parts = []
                from_end = 0
                for part in (",", *filter(None, reversed(head))):
                    from_start = from_end + len(part.removeprefix(WORD_MARKER))
                    new_index = self._processor.PieceToId(part)
                    parts.insert(0, (new_index, from_start, from_end))
                    from_end = from_start
        return found

    def _locate_parts(self, index, text):
        """Yields the spans in `text` of the tokens that replace the piece `index`."""
        size = len(text)
        parts, positions = self.digit_comma_parts.get(index), range(size + 1)
        if parts is None:
            parts = [(index, size, 0)]
        elif parts[0][1] != size:
            normalized, positions = self._processor.Normalize(text, with_offsets=True)
            size = len(normalized)
        for _, from_start, from_end in parts:
            yield positions[size - from_start], positions[size - from_end]


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


def _original_span(spans, start, end):
    if start < end:
        return spans[start][0], spans[end - 1][1]
    # A word marker alone has an empty span before a character or at the text's end.
    point = spans[start][0] if start < len(spans) else spans[-1][1]
    return point, point
