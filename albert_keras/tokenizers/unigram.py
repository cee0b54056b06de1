"""What a SentencePiece unigram model makes of single words, and how sure that is."""

import itertools

import numpy as np

from albert_keras.tokenizers.sentence_piece_model import WORD_MARKER
from albert_keras.tokenizers.word_table import EncodedWords
from albert_keras.tokenizers.words import NUM_ASCII, Boundaries

# Words compared in one call, which takes a third of the time of as many calls.
_GROUP_WORDS = 8

# A lead that makes a group's words sure in all but very long texts. Three in a hundred
# groups of English have less, and are compared again word by word.
_CLEAR_LEAD = 0.02

# SentencePiece scores an unknown character so much below its worst piece.
_UNKNOWN_PENALTY = 10

# What two float32 sums of C may be off by together, relative to C, and as much again.
_MARGIN = 2 * 2 * 2.0**-24


class UnigramWords:
    """Segments words so that it can be told whether a text would segment them alike.

    The best segmentation of a text consists of the best ones of its words, if no piece
    reaches over their ends. But SentencePiece adds up scores in float32, whose steps
    grow with the sum: far into a text another segmentation of a word may win, if it
    scores about the same. Where costs (negative scores) add up to C, a segmentation of n
    pieces is off by n C 2**-24 at most, so that the winner is sure if its lead over the
    second best is more than twice that.

    Args:
        processor: `SentencePieceProcessor` of a model that `segments_words_alone`.
        preprocess: function of a str, to be applied to words.
        replacements: dict int -> list of int. What to put in the place of some ids.
    """

    def __init__(self, processor, preprocess, replacements):
        self._processor = processor
        self._preprocess = preprocess
        self._replacements = replacements
        indices = range(len(processor))
        self._pieces = processor.IdToPiece(list(indices))
        scores = np.array(processor.GetScore(list(indices)))
        spells_unknown = [
            processor.IsUnknown(i) or processor.IsByte(i) for i in indices
        ]
        lengths = np.where(spells_unknown, 0, list(map(len, self._pieces)))
        self._unknown_score = scores.min() - _UNKNOWN_PENALTY
        # Over leaving its characters unknown, of which no token tells how many.
        self._gains = scores - self._unknown_score * lengths
        self._gain_list = self._gains.tolist()
        self._begins_word = np.array([p.startswith(WORD_MARKER) for p in self._pieces])
        self._loner = _find_loner(self._pieces)

    def boundaries(self, dependent=""):
        """Finds the ASCII characters between which no piece reaches.

        Args:
            dependent: str. Characters that are preprocessed together with neighbours.

        Returns:
            `Boundaries`.
        """
        characters = map(chr, range(NUM_ASCII))
        images = ["" if c in dependent else self._preprocess(c) for c in characters]
        images = [
            i.removeprefix(WORD_MARKER) for i in self._processor.Normalize(images)
        ]
        # Others may be unknown, and with an unknown neighbour become one token.
        pieces = set(self._pieces) if self._loner else set()
        is_known = np.array([len(i) == 1 and i in pieces for i in images])
        joined = {a + b for piece in pieces for a, b in itertools.pairwise(piece)}
        is_joined = np.array([[a + b in joined for b in images] for a in images])
        return Boundaries(is_known & is_known[:, np.newaxis] & ~is_joined)

    def encode(self, words, are_continued):
        """Encodes words.

        Args:
            words: list of str.
            are_continued: bool `(num_words,)`. Whether a word follows another without
                white space.

        Returns:
            `EncodedWords`.
        """
        words = [
            (self._loner if is_continued else "") + self._preprocess(word)
            for word, is_continued in zip(words, are_continued, strict=True)
        ]
        normalized = self._processor.Normalize(words)
        is_plain = np.array(list(map(_is_plain, words, normalized)))
        words = [w if plain else "" for w, plain in zip(words, is_plain, strict=True)]
        num_parts = is_plain * [text.count(WORD_MARKER) for text in normalized]
        # A piece has a character at least, so that these are no fewer than the pieces.
        lengths = is_plain * [len(text) for text in normalized]

        rows, leads, sizes = zip(*self._segment(words), strict=True)
        token_ids = np.array([*itertools.chain(*rows)], np.int32)
        part_of = np.cumsum(self._begins_word[token_ids]) - 1
        word_of = np.repeat(np.arange(len(words)), num_parts)[part_of]
        gains = np.bincount(word_of, self._gains[token_ids], len(words))
        costs = -gains - self._unknown_score * lengths

        # The comparison of a group adds up scores as well.
        group_of = np.repeat(np.arange(len(sizes)), sizes)
        errors = np.bincount(group_of, costs) * np.bincount(group_of, lengths)
        room = np.array(leads) / _MARGIN - errors
        reaches = np.where(is_plain, room[group_of] / np.maximum(lengths, 1), -1)

        # The marker and the loner are not the word's.
        is_own = ~are_continued[word_of] | (_ranks(word_of) >= 2)
        return self._replace(token_ids[is_own], word_of[is_own], costs, reaches)

    def _segment(self, words):
        """Yields the best segmentation of groups of words, its lead and their number."""
        for start in range(0, len(words), _GROUP_WORDS):
            group = words[start : start + _GROUP_WORDS]
            if not any(map(_is_repetitive, group)):
                token_ids, lead = self._compare(group)
                if lead >= _CLEAR_LEAD:
                    yield token_ids, lead, len(group)
                    continue
            yield from ((*self._compare([word]), 1) for word in group)

    def _compare(self, words):
        """Returns the best segmentation and its lead: the least of all the words'."""
        text = " ".join(words)
        best, *others = self._processor.NBestEncode(text, nbest_size=2)
        if not others:
            return best, np.inf
        # Both of as many characters.
        return best, self._sum_gains(best) - self._sum_gains(others[0])

    def _sum_gains(self, token_ids):
        return sum(map(self._gain_list.__getitem__, token_ids))

    def _replace(self, token_ids, word_of, costs, reaches):
        rows = [self._replacements.get(i, (i,)) for i in token_ids.tolist()]
        num_tokens = np.bincount(word_of, list(map(len, rows)), len(costs))
        token_ids = np.array([*itertools.chain(*rows)], np.int32)
        return EncodedWords(token_ids, num_tokens.astype(int), costs, reaches)


def _find_loner(pieces):
    """Finds an ASCII piece whose character is in no other: words end at it."""
    others = "".join(piece for piece in pieces if len(piece) > 1)
    loners = (piece for piece in pieces if len(piece) == 1 and piece.isascii())
    return next((piece for piece in loners if piece not in others), "")


def _is_plain(word, normalized):
    """Says whether the model's own normalizer makes no spaces or markers of a word."""
    return WORD_MARKER not in word and normalized.count(WORD_MARKER) == len(
        word.split()
    )


def _is_repetitive(word):
    """Says whether a word, as "0000", may have many segmentations of equal score.

    SentencePiece complains of too many when it compares several such words together.
    """
    return len(word) > 2 * len(set(word))


def _ranks(word_of):
    """Returns for each token how many of its word's come before it."""
    return np.arange(word_of.size) - np.searchsorted(word_of, word_of)
