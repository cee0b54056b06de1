"""What both encoders share: text to token ids in plain Python."""

import functools
import itertools

import numpy as np

from albert_keras.checks import check_text

# Characters that `encode_ragged` takes at once, so that its memory is bounded.
_PART_CHARACTERS = 2**18

# Attributes that are made at their first use and grow with what they are used on.
_LEARNT = ("_word_table", "_span_finder")


class Encoder:
    """Turns text into token ids in plain Python: no TensorFlow, and it pickles.

    The Keras layers delegate to it; worker processes can use it directly. Subclasses
    add `_encode_texts`, `_decode_rows`, `_make_word_table` (None if the tokens of a text
    are not those of its words), `_make_span_finder` (None if its characters are not),
    `tokenize_with_offsets` and `word_starts`.

    Args:
        vocabulary: list of str. The token of each id.
        special_tokens: tuple of str: padding, unknown, classification, separator, mask.

    Raises:
        ValueError: If the vocabulary lacks a special token.
    """

    def __init__(self, vocabulary, special_tokens):
        self.special_tokens = list(special_tokens)
        self._vocabulary = vocabulary
        self._ids = {token: index for index, token in enumerate(vocabulary)}
        missing = [token for token in special_tokens if token not in self._ids]
        if missing:
            raise ValueError(
                f"An ALBERT vocabulary must have the tokens {self.special_tokens}. "
                f"Received: {len(vocabulary)} tokens without {missing}. "
                "Use a vocabulary made for ALBERT; `train_sentence_piece` makes one."
            )
        self.special_token_ids = [self._ids[token] for token in special_tokens]
        self.pad_token_id, self.unk_token_id = self.special_token_ids[:2]
        self.cls_token_id, self.sep_token_id = self.special_token_ids[2:4]
        self.mask_token_id = self.special_token_ids[4]

    def __getstate__(self):
        # Another process learns words as fast as it could be sent them.
        return {k: value for k, value in vars(self).items() if k not in _LEARNT}

    def encode_batch(self, texts):
        """Encodes texts as token ids, without adding special tokens.

        Args:
            texts: list of str.

        Returns:
            List of lists of int.
        """
        return self._encode_texts(_checked(texts))

    def encode_ragged(self, texts):
        """Encodes texts as token ids: the same as `encode_batch`, in arrays and faster.

        Words are remembered (see `WordTable`), so that only new ones are tokenized. To
        be called by one thread at a time.

        Args:
            texts: list of str.

        Returns:
            Tuple of the token ids of all texts in a row, int32 `(num_tokens,)`, and
            where each text's begin and the last one's end, int64 `(num_texts + 1,)`.
        """
        parts = list(map(self._encode_part, _split(_checked(texts))))
        token_ids = [np.zeros(0, np.int32), *(ids for ids, _ in parts)]
        num_tokens = np.concatenate([np.zeros(1, np.int64), *(n for _, n in parts)])
        return np.concatenate(token_ids), np.cumsum(num_tokens)

    def encode_ragged_with_spans(self, texts):
        """Encodes texts and locates their tokens: many times as fast as one by one.

        Args:
            texts: list of str.

        Returns:
            Tuple of the two arrays of `encode_ragged`, and each token's start and end,
            int32 `(num_tokens, 2)`, as `tokenize_with_offsets` gives them.
        """
        parts = list(map(self._locate_part, _split(_checked(texts))))
        token_ids = [np.zeros(0, np.int32), *(ids for ids, _, _ in parts)]
        num_tokens = np.concatenate([np.zeros(1, np.int64), *(n for _, n, _ in parts)])
        spans = [np.zeros((0, 2), np.int32), *(spans for _, _, spans in parts)]
        return (
            np.concatenate(token_ids),
            np.cumsum(num_tokens),
            np.concatenate(spans),
        )

    def decode_batch(self, rows):
        """Decodes token ids as text; normalization is not undone.

        Args:
            rows: list of lists of int.

        Returns:
            List of str.
        """
        for row in rows:
            for index in row:
                self.id_to_token(index)
        return self._decode_rows(rows)

    def get_vocabulary(self):
        """Returns the token of each id, as a list."""
        return list(self._vocabulary)

    def vocabulary_size(self):
        """Returns the number of token ids."""
        return len(self._vocabulary)

    def id_to_token(self, index):
        """Returns the token of an id."""
        size = len(self._vocabulary)
        if not 0 <= index < size:
            raise ValueError(f"A token id must be in [0, {size}). Received: {index}.")
        return self._vocabulary[index]

    def token_to_id(self, token):
        """Returns the id of a token; that of the unknown token if there is none."""
        return self._ids.get(token, self.unk_token_id)

    @functools.cached_property
    def _word_table(self):
        return self._make_word_table()

    @functools.cached_property
    def _span_finder(self):
        return self._make_span_finder()

    def _locate_part(self, texts):
        """Returns the token ids of all texts in a row, their number, and their spans."""
        token_ids, num_tokens = self._encode_part(texts)
        if self._span_finder is None:
            spans = np.zeros((len(token_ids), 2), np.int32)
            is_sure = np.zeros(len(texts), bool)
        else:
            spans, is_sure = self._span_finder.find(texts, token_ids, num_tokens)
        ends = np.cumsum(num_tokens)
        for i in np.flatnonzero(~is_sure):
            _, offsets = self.tokenize_with_offsets(texts[i])
            spans[ends[i] - num_tokens[i] : ends[i]] = np.reshape(offsets, (-1, 2))
        return token_ids, num_tokens, spans

    def _encode_part(self, texts):
        """Returns the token ids of all texts in a row, and their number in each."""
        if self._word_table is None:
            return _join(self._encode_texts(texts))
        token_ids, num_tokens, is_sure = self._word_table.encode(texts)
        if is_sure.all():
            return token_ids, num_tokens
        left = np.flatnonzero(~is_sure)
        left_ids, num_left = _join(self._encode_texts([texts[i] for i in left]))
        gaps = np.repeat(np.cumsum(num_tokens)[left], num_left)
        num_tokens[left] = num_left
        return np.insert(token_ids, gaps, left_ids), num_tokens


def _join(rows):
    """Returns the token ids of all rows, int32, and their number in each."""
    token_ids = np.array([*itertools.chain(*rows)], np.int32)
    return token_ids, np.array([len(row) for row in rows], np.int64)


def _checked(texts):
    if isinstance(texts, str):
        raise TypeError(f"`texts` must be a list of str. Received: {texts!r}.")
    texts = list(texts)
    for text in texts:
        check_text(text)
    return texts


def _split(texts):
    """Splits a list of texts into lists of `_PART_CHARACTERS` or a little more."""
    part_of = np.cumsum([len(text) for text in texts], dtype=int) // _PART_CHARACTERS
    bounds = [0, *(np.flatnonzero(np.diff(part_of)) + 1), len(texts)]
    return [texts[a:b] for a, b in itertools.pairwise(bounds) if a < b]
