"""The words of a batch of texts, found and keyed without a Python loop over words."""

import dataclasses
import functools
import hashlib

import numpy as np

NUM_ASCII = 128

# A key is two limbs of 8 bytes: 15 bytes of the word, or of a hash of a longer one, and
# a byte that tells its length or that it is hashed, and whether it goes on another.
_LIMB_BYTES = 8
_KEY_BYTES = 2 * _LIMB_BYTES - 1
_HASHED = 0x40
_CONTINUED = 0x80
_LAST_BYTE = np.uint64(8 * (_LIMB_BYTES - 1))

_FIRST_BYTES = np.array([2 ** (8 * n) - 1 for n in range(_LIMB_BYTES + 1)], "<u8")

# White space to all encoders; some drop a form feed.
_SPACE = ord(" ")
_IS_SPACE = np.isin(np.arange(256), list(b" \t\n\r"))


@dataclasses.dataclass(frozen=True)
class Boundaries:
    """Where words end besides white space, so that fewer are different.

    Args:
        pairs: bool `(128, 128)`. Between which ASCII characters a word ends, provided
            that it is all ASCII.
        stands_alone: bool `(0x110000,)`, or None. Which characters are words of their
            own, by their code points.
    """

    pairs: np.ndarray
    stands_alone: np.ndarray | None = None

    @functools.cached_property
    def byte_pairs(self):
        """Bool `(65536,)`: the pairs, by two bytes of text as a little-endian number."""
        return np.pad(self.pairs.T, (0, 256 - NUM_ASCII)).ravel()


@dataclasses.dataclass(frozen=True)
class Words:
    """Words of several texts in a row; some may be empty.

    Args:
        blob: bytes. The texts in UTF-8, with 16 bytes to spare.
        starts: int64 `(num_words,)`. Where each word begins in `blob`.
        lengths: int64 `(num_words,)`. Bytes of each word.
        are_continued: bool `(num_words,)`. Whether a word follows another without white
            space.
        first_words: int64 `(num_texts,)`. Number of the first word of each text.
    """

    blob: bytes
    starts: np.ndarray
    lengths: np.ndarray
    are_continued: np.ndarray
    first_words: np.ndarray

    def keys(self):
        """Returns `(2, num_words)` uint64: equal for equal words, and only for them.

        Words of over 15 bytes are told apart by 15 bytes of a cryptographic hash, of
        which nobody has seen two texts with the same.
        """
        keys = np.empty((2, len(self.starts)), "<u8")
        for limb, offset in zip(keys, (0, _LIMB_BYTES), strict=True):
            size = len(self.blob) - 2 * _LIMB_BYTES
            at_each_byte = np.ndarray((size,), "<u8", self.blob, offset, (1,))
            num_bytes = np.clip(self.lengths - offset, 0, _LIMB_BYTES)
            np.bitwise_and(at_each_byte[self.starts], _FIRST_BYTES[num_bytes], out=limb)
        marks = self.lengths + _CONTINUED * self.are_continued
        long = np.flatnonzero(self.lengths > _KEY_BYTES)
        if long.size:
            digests = b"".join(map(_digest, self._encoded(long)))
            keys[:, long] = np.frombuffer(digests, "<u8").reshape(-1, 2).T
            marks[long] = _HASHED + _CONTINUED * self.are_continued[long]
        keys[1] |= marks.astype("<u8") << _LAST_BYTE
        return keys

    def decode(self, indices):
        """Returns some of the words as a list of str."""
        return [
            word.decode("utf-8", "surrogatepass") for word in self._encoded(indices)
        ]

    def _encoded(self, indices):
        starts = self.starts[indices].tolist()
        ends = (self.starts + self.lengths)[indices].tolist()
        return [self.blob[a:b] for a, b in zip(starts, ends, strict=True)]


def find_words(texts, boundaries):
    """Cuts texts into words.

    Args:
        texts: non-empty list of str.
        boundaries: `Boundaries`.

    Returns:
        `Words`; each text has one at least.

    Example:

    >>> nowhere_else = Boundaries(np.zeros((128, 128), bool))
    >>> words = find_words(["two words", "three more words"], nowhere_else)
    >>> words.first_words.tolist(), words.decode([0, 4])
    ([0, 2], ['two', 'words'])
    """
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    blob = b" ".join([*encoded, bytes(2 * _LIMB_BYTES)])
    text_ends = np.cumsum([len(text) + 1 for text in encoded])
    characters = np.frombuffer(blob, np.uint8, text_ends[-1])
    ends = np.flatnonzero(characters <= _SPACE)
    ends = ends[_IS_SPACE[characters[ends]]]
    starts = np.append(0, ends[:-1] + 1)

    is_cut = np.zeros(len(characters), bool)
    is_cut[_cuts_between(characters, starts, boundaries.byte_pairs)] = True
    # As many characters as bytes: no character stands alone in ASCII.
    has_others = sum(map(len, texts)) < sum(map(len, encoded))
    if boundaries.stands_alone is not None and has_others:
        for cuts in _cuts_around(texts, boundaries.stands_alone):
            is_cut[cuts] = True
    is_cut[starts] = is_cut[ends] = False

    starts = _positions_with(is_cut, starts)
    lengths = _positions_with(is_cut, ends) - starts
    are_continued = ~_IS_SPACE[characters[starts - 1]]
    first_words = np.searchsorted(starts, np.append(0, text_ends[:-1]))
    return Words(blob, starts, lengths, are_continued, first_words)


def _cuts_between(characters, starts, byte_pairs):
    """Finds the bytes between which a word ends, and is all ASCII."""
    at_each_byte = np.ndarray((len(characters) - 1,), "<u2", characters, 0, (1,))
    cuts = 1 + np.flatnonzero(byte_pairs.take(at_each_byte))
    others = np.flatnonzero(characters >= NUM_ASCII)
    if others.size == 0:
        return cuts
    is_ascii = np.ones(len(starts), bool)
    is_ascii[np.searchsorted(starts, others, "right") - 1] = False
    return cuts[is_ascii[np.searchsorted(starts, cuts, "right") - 1]]


def _cuts_around(texts, stands_alone):
    """Finds the bytes at which characters that stand alone begin, and end."""
    # With the space after each text.
    characters = " ".join([*texts, ""]).encode("utf-32-le", "surrogatepass")
    code_points = np.frombuffer(characters, "<u4")
    num_bytes = 1 + sum((code_points >= n).astype(int) for n in (0x80, 0x800, 0x10000))
    ends = np.cumsum(num_bytes)
    is_alone = stands_alone[code_points]
    return (ends - num_bytes)[is_alone], ends[is_alone]


def _positions_with(mask, more):
    """Returns the positions at which a mask is true, and more."""
    mask = mask.copy()
    mask[more] = True
    return np.flatnonzero(mask)


def _digest(word):
    return hashlib.blake2b(word, digest_size=_KEY_BYTES).digest() + b"\0"
