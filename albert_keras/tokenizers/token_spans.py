"""Where tokens stand in their texts: for whole batches, by counting characters alone."""

from typing import NamedTuple

import numpy as np

# Kinds of characters.
SPACE = 0  # Ends a word.
JOINED = 1  # Part of a word.
ALONE = 2  # A word of its own.
DROPPED = 3  # Part of no token; goes with the character before it.
UNCERTAIN = 4  # Nothing is said of texts that have it.
_UNSEEN = 5

# Length of a token that stands for what the others leave of its word.
THE_REST = -1

_NUM_CODE_POINTS = 0x110000


class SpanFinder:
    """Finds the characters of tokens without tokenizing again.

    Each character of a text becomes some characters of tokens, its images: `A` becomes
    `a`, `½` three, a space none. The images of a word, in a row, are the characters of
    its tokens, so that the tokens' lengths say which images are whose. A text whose
    numbers do not agree, or whose characters depend on their neighbours, is left out.

    Args:
        classify: function of a character to its kind and the number of its images,
            which is 0 for `SPACE` and `DROPPED`, and 1 for `ALONE`.
        token_lengths: int `(vocabulary_size,)`. Images of each token, or `THE_REST`.
        begins_word: bool `(vocabulary_size,)`.
        exceptions: tuple of str. Texts with one of them are left out.
    """

    def __init__(self, classify, token_lengths, begins_word, exceptions=()):
        self._classify = classify
        self._token_lengths = token_lengths
        self._begins_word = begins_word
        self._exceptions = exceptions
        self._kinds = np.full(_NUM_CODE_POINTS, _UNSEEN, np.uint8)
        self._num_images = np.zeros(_NUM_CODE_POINTS, np.uint8)

    def find(self, texts, token_ids, num_tokens):
        """Finds the spans of all tokens of some texts.

        Args:
            texts: non-empty list of str.
            token_ids: int `(num_tokens,)`. Of all texts in a row.
            num_tokens: int `(num_texts,)`. Tokens of each text.

        Returns:
            Tuple of each token's start and end in the characters of its text, int32
            `(num_tokens, 2)`; and bool `(num_texts,)`, false for texts that were left
            out, whose spans mean nothing.
        """
        words = self._find_words(texts)
        begins_word = self._begins_word[token_ids]
        has_tokens = num_tokens > 0
        first = (np.cumsum(num_tokens) - num_tokens)[has_tokens]
        is_sure = words.are_certain & ~self._are_exceptions(texts)
        is_sure &= words.counts == _sums(begins_word, num_tokens)
        is_sure[has_tokens] &= begins_word[first]

        # In the texts that are left, words and their tokens go side by side.
        kept = np.flatnonzero(np.repeat(is_sure, words.counts))
        tokens = np.flatnonzero(np.repeat(is_sure, num_tokens))
        word_of = np.cumsum(begins_word[tokens]) - 1
        lengths, is_even = _fill_rest(
            self._token_lengths[token_ids[tokens]], word_of, words.lengths[kept]
        )
        text_of = np.repeat(np.arange(len(texts)), words.counts)
        is_sure[text_of[kept[~is_even]]] = False

        first_images = words.first_images[kept][word_of] + _before(lengths, word_of)
        is_found = is_even[word_of]
        spans = np.zeros((len(token_ids), 2), np.int32)
        spans[tokens[is_found]] = words.spans(first_images[is_found], lengths[is_found])
        return spans, is_sure

    def _find_words(self, texts):
        text_lengths = np.array([len(text) for text in texts])
        encoded = "".join(texts).encode("utf-32-le", "surrogatepass")
        kinds, num_images = self._look_up(np.frombuffer(encoded, "<u4"))
        starts = np.cumsum(text_lengths) - text_lengths
        are_uncertain = _find_uncertain(kinds, num_images, starts)

        kept = np.flatnonzero(kinds != DROPPED)
        kinds, num_images = kinds[kept], num_images[kept]
        text_of = np.repeat(np.arange(len(texts)), text_lengths)[kept]
        positions = kept - starts[text_of]
        is_first = np.diff(text_of, prepend=-1) > 0
        # A character ends where the next one begins that is not dropped.
        is_last = np.append(is_first, True)[1:]
        ends = np.append(positions, 0)[1:]
        ends[is_last] = text_lengths[text_of[is_last]]

        before = np.append(SPACE, kinds)[:-1]
        begins = is_first | (before != JOINED) | (kinds == ALONE)
        begins = np.flatnonzero(begins & (kinds != SPACE))
        first_images = (np.cumsum(num_images) - num_images)[begins]
        return _Words(
            are_certain=_sums(are_uncertain, text_lengths) == 0,
            counts=np.bincount(text_of[begins], minlength=len(texts)),
            first_images=first_images,
            lengths=np.diff(first_images, append=num_images.sum()),
            starts=np.repeat(positions, num_images),
            ends=np.repeat(ends, num_images),
        )

    def _look_up(self, code_points):
        """Returns the kind of each character, and the number of its images."""
        kinds = self._kinds[code_points]
        if (kinds == _UNSEEN).any():
            for code_point in np.unique(code_points[kinds == _UNSEEN]).tolist():
                kind, num_images = self._classify(chr(code_point))
                self._kinds[code_point] = kind
                self._num_images[code_point] = num_images
            kinds = self._kinds[code_points]
        return kinds, self._num_images[code_points].astype(np.int64)

    def _are_exceptions(self, texts):
        return np.array([any(e in text for e in self._exceptions) for text in texts])


class _Words(NamedTuple):
    """Words of several texts in a row, and the images that they consist of.

    Args:
        are_certain: bool `(num_texts,)`.
        counts: int `(num_texts,)`. Words of each text.
        first_images: int `(num_words,)`. Number of each word's first image.
        lengths: int `(num_words,)`. Images of each word.
        starts, ends: int `(num_images,)`. The span of the character that an image is
            of, in its text.
    """

    are_certain: np.ndarray
    counts: np.ndarray
    first_images: np.ndarray
    lengths: np.ndarray
    starts: np.ndarray
    ends: np.ndarray

    def spans(self, first_images, lengths):
        """Returns the spans `(num_runs, 2)` of runs of images."""
        starts = self.starts[first_images]
        last_images = first_images + np.maximum(lengths, 1) - 1
        # A token without images is a point before the next one.
        ends = np.where(lengths > 0, self.ends[last_images], starts)
        return np.stack([starts, ends], axis=1)


def _find_uncertain(kinds, num_images, starts):
    """Says of which characters it is not known where they, or their images, belong."""
    is_dropped = kinds == DROPPED
    if not is_dropped.any():
        return kinds == UNCERTAIN
    # Where it goes with another image than the first, or with a space, or with none.
    has_place = np.append(False, is_dropped[:-1] | (num_images[:-1] == 1))
    has_place[starts[starts < len(kinds)]] = False
    return (kinds == UNCERTAIN) | (is_dropped & ~has_place)


def _fill_rest(lengths, word_of, word_lengths):
    """Returns the tokens' lengths, and whether they add up to those of each word."""
    num_words = len(word_lengths)
    is_rest = lengths == THE_REST
    known = np.bincount(word_of, np.where(is_rest, 0, lengths), num_words)
    rest = word_lengths - known.astype(np.int64)
    num_rest = np.bincount(word_of[is_rest], minlength=num_words)
    is_even = np.where(num_rest == 0, rest == 0, (num_rest == 1) & (rest > 0))
    return np.where(is_rest, rest[word_of], lengths), is_even


def _before(lengths, word_of):
    """Returns the images of its word that come before each token."""
    ends = np.cumsum(lengths)
    first = np.flatnonzero(np.diff(word_of, prepend=-1))
    return ends - lengths - (ends - lengths)[first][word_of]


def _sums(values, counts):
    """Returns the sums of runs of values, each as long as its count."""
    sums = np.append(0, np.cumsum(values))
    ends = np.cumsum(counts)
    return sums[ends] - sums[ends - counts]
