"""Words met before, with their token ids, found for a whole batch of texts at once."""

from typing import NamedTuple

import numpy as np

from albert_keras.tokenizers.words import find_words

MAX_WORDS = 2**18
_SLOTS = 2 * MAX_WORDS
_TOKENS = 4 * MAX_WORDS

# Longer words seldom come again.
MAX_WORD_BYTES = 64

# The first two numbers are no words': of nothing, and of a word that is never sure.
_NOTHING, _UNSURE = 0, 1
_RESERVED = 2

# Odd, with ones and zeros well mixed: multiplication spreads a key over all its bits.
_MULTIPLIERS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], "<u8")[:, np.newaxis]


class EncodedWords(NamedTuple):
    """Token ids of words, and how far each may be trusted to be the same in a text.

    Args:
        token_ids: int32 `(num_tokens,)`. Of all words in a row.
        num_tokens: int `(num_words,)`.
        costs: float `(num_words,)`. What each word adds to the cost of its text.
        reaches: float `(num_words,)`. Up to which cost of its text a word has these
            tokens there too; negative if that is never sure.
    """

    token_ids: np.ndarray
    num_tokens: np.ndarray
    costs: np.ndarray
    reaches: np.ndarray


class WordTable:
    """A hash table in NumPy arrays, from words to their token ids.

    Natural text repeats its words, and a batch's words are looked up together, several
    times as fast as a tokenizer, or a dict, takes them one by one. The table holds
    `MAX_WORDS` words, some 18 MB; when they are exceeded it starts anew, so that memory
    does not grow with the corpus. To be used by one thread at a time.

    Args:
        boundaries: `Boundaries` of words.
        encode_words: function of words, a list of str, and whether each follows another
            without white space, bool `(num_words,)`; returns `EncodedWords`.
    """

    def __init__(self, boundaries, encode_words):
        self._boundaries = boundaries
        self._encode_words = encode_words
        self._clear()

    def encode(self, texts):
        """Encodes texts word by word.

        Args:
            texts: non-empty list of str.

        Returns:
            Tuple of the token ids of all texts in a row, int32; their number in each
            text; and bool `(num_texts,)`, false for texts that were left out, because
            one of their words might have other tokens in the whole of the text.
        """
        words = find_words(texts, self._boundaries)
        numbers = self._number(words)
        first = words.first_words
        costs = np.add.reduceat(self._costs[numbers], first)
        is_sure = costs <= np.minimum.reduceat(self._reaches[numbers], first)
        num_tokens = self._num_tokens[numbers]
        num_tokens *= np.repeat(is_sure, np.diff(first, append=len(numbers)))
        token_ids = self._token_ids[row_positions(self._starts[numbers], num_tokens)]
        return token_ids, np.add.reduceat(num_tokens, first), is_sure

    def _clear(self):
        self._size = _RESERVED
        self._slots = np.zeros(_SLOTS, np.int32)
        self._keys = np.zeros((2, MAX_WORDS), "<u8")
        self._token_ids = np.zeros(_TOKENS, np.int32)
        self._num_known_tokens = 0
        self._starts = np.zeros(MAX_WORDS, np.int64)
        self._num_tokens = np.zeros(MAX_WORDS, np.int64)
        self._costs = np.zeros(MAX_WORDS)
        self._reaches = np.zeros(MAX_WORDS)
        self._reaches[_NOTHING], self._reaches[_UNSURE] = np.inf, -1

    def _number(self, words):
        """Returns the number of each word, and learns those that have none."""
        keys = words.keys()
        numbers = self._find(keys)
        numbers[words.lengths > MAX_WORD_BYTES] = _UNSURE
        missing = np.flatnonzero((numbers == _NOTHING) & (words.lengths > 0))
        if missing.size == 0:
            return numbers
        new = missing[_first_of_each(keys[:, missing])]
        if self._size + new.size > MAX_WORDS and self._size > _RESERVED:
            self._clear()
            return self._number(words)
        # One text may have more words than there is room for.
        new = new[: MAX_WORDS - self._size]
        encoded = self._encode_words(words.decode(new), words.are_continued[new])
        self._learn(keys[:, new], encoded)
        found = self._find(keys[:, missing])
        numbers[missing] = np.where(found == _NOTHING, _UNSURE, found)
        return numbers

    def _find(self, keys):
        places = _home(keys)
        numbers = self._slots[places]
        wrong = np.flatnonzero(self._differs(numbers, keys))
        while wrong.size:
            places[wrong] = (places[wrong] + 1) % _SLOTS
            numbers[wrong] = self._slots[places[wrong]]
            wrong = wrong[self._differs(numbers[wrong], keys[:, wrong])]
        return numbers

    def _differs(self, numbers, keys):
        """Says where a slot is taken by another word."""
        different = self._keys[0][numbers] != keys[0]
        different |= self._keys[1][numbers] != keys[1]
        return different & (numbers != _NOTHING)

    def _learn(self, keys, encoded):
        end = self._size + keys.shape[1]
        new = slice(self._size, end)
        self._keys[:, new] = keys
        self._starts[new] = self._keep_tokens(encoded.token_ids) + (
            np.cumsum(encoded.num_tokens) - encoded.num_tokens
        )
        self._num_tokens[new] = encoded.num_tokens
        self._costs[new] = encoded.costs
        self._reaches[new] = encoded.reaches
        self._take_slots(_home(keys), np.arange(self._size, end, dtype=np.int32))
        self._size = end

    def _keep_tokens(self, token_ids):
        """Appends token ids and returns where they begin."""
        start = self._num_known_tokens
        self._num_known_tokens += len(token_ids)
        if self._num_known_tokens > len(self._token_ids):
            room = np.zeros(self._num_known_tokens, np.int32)
            self._token_ids = np.append(self._token_ids, room)
        self._token_ids[start : self._num_known_tokens] = token_ids
        return start

    def _take_slots(self, places, numbers):
        while numbers.size:
            is_free = self._slots[places] == _NOTHING
            # Of words that want the same slot, the last one gets it.
            self._slots[places[is_free]] = numbers[is_free]
            is_left = self._slots[places] != numbers
            places, numbers = (places[is_left] + 1) % _SLOTS, numbers[is_left]


def row_positions(starts, lengths):
    """Returns the positions of rows `[start, start + length)`, one after the other."""
    ends = np.cumsum(lengths)
    shifts = starts - (ends - lengths)
    return np.arange(lengths.sum()) + np.repeat(shifts, lengths)


def _home(keys):
    """Returns the slot at which the search for each key begins."""
    mixed = np.bitwise_xor.reduce(keys * _MULTIPLIERS)
    mixed ^= mixed >> np.uint64(32)
    mixed *= _MULTIPLIERS[0]
    return (mixed >> np.uint64(64 - _SLOTS.bit_length() + 1)).astype(np.int64)


def _first_of_each(keys):
    """Returns the indices of the first of each group of equal keys, in order."""
    order = np.lexsort(keys)
    ordered = keys[:, order]
    is_first = np.append(True, np.any(ordered[:, 1:] != ordered[:, :-1], axis=0))
    return np.sort(order[is_first])
