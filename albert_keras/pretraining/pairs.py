"""Sentence pairs cut from documents: sentence order, next sentence, or single segments.

The end of a chunk is computed for every sentence of a block as if a chunk began there,
in one vectorized step; then the chain of chunks that follow each other is selected. The
random numbers are arguments (`PairDraws`), one set for each sentence.
"""

import functools
from typing import NamedTuple

import numpy as np

from albert_keras.tokenizers.packing import kept_lengths


class PairDraws(NamedTuple):
    """Uniform random numbers in [0, 1), float64, of documents and of sentences.

    Those of a sentence are for the chunk that begins with it.
    """

    is_short: np.ndarray  # (num_documents,) whether the target length is shorter
    target: np.ndarray  # (num_documents,) that target length
    middle: np.ndarray  # (num_sentences,) where the chunk is split
    swap: np.ndarray  # (num_sentences,) whether segments are swapped, or one replaced
    other_document: np.ndarray  # (num_sentences,) document that replaces the second one
    other_sentence: np.ndarray  # (num_sentences,) its first sentence
    first_end: np.ndarray  # (num_sentences,) tokens truncated at the front
    second_end: np.ndarray  # (num_sentences,) the same of the second segment


def draw_pairs(rng, num_documents, num_sentences):
    """Returns `PairDraws` from a generator."""
    for_sentences = len(PairDraws._fields) - 2
    return PairDraws(
        *rng.random((2, num_documents)), *rng.random((for_sentences, num_sentences))
    )


class SentencePairs(NamedTuple):
    """Pairs of segments, as positions in the documents' array of tokens, `(num_pairs,)`.

    The second length is 0 for the objective `"none"`. Label 1 means swapped or from
    another document.
    """

    first_start: np.ndarray
    first_length: np.ndarray
    second_start: np.ndarray
    second_length: np.ndarray
    label: np.ndarray

    @property
    def lengths(self):
        """Tokens of each pair, without special ones, `(num_pairs,)`."""
        return self.first_length + self.second_length

    def take(self, rows):
        """Returns the pairs at `rows`: indices, a slice or a bool mask."""
        return SentencePairs(*(column[rows] for column in self))


class PairCutter:
    """Cuts documents into sentence pairs.

    A chunk is consecutive sentences up to a target length, drawn once for the document,
    and is split into two segments between two random sentences. Splitting anywhere
    between tokens would make the sentence objective too easy.

    Args:
        documents: `Documents`. Negatives come from these too.
        draws: `PairDraws` for these documents.
        config: `PretrainingDataConfig`. A document's target is shorter than `max_tokens`
            with `short_sequence_prob`, then uniform from 2. Of `one_sentence_chunks`,
            `"skip"` skips chunks of one sentence, which cannot be split;
            `"random_document"` adds a second segment from another document, if any, and
            label 1, as the original does even for sentence order.

    Reference: google-research/albert `create_instances_from_document`; differs in that
    the other document comes from the same block, of about half a million tokens, and
    that a single document in a block gives no negatives.
    """

    def __init__(self, documents, draws, config):
        self.offsets = documents.sentence_offsets
        self.document_offsets = documents.document_offsets
        self.draws = draws
        self.objective = config.sentence_pairs
        self.max_tokens, self.num_special = config.max_tokens, config.num_special
        sizes = np.diff(self.document_offsets)
        self.document = np.repeat(np.arange(len(sizes)), sizes)  # (num_sentences,)
        self.has_others = len(sizes) > 1
        self.completes_singles = (
            self.has_others and config.one_sentence_chunks == "random_document"
        )
        short = 2 + _floor(draws.target, self.max_tokens - 1)  # (num_documents,)
        is_short = draws.is_short < config.short_sequence_prob
        # (num_sentences,)
        self.targets = np.where(is_short, short, self.max_tokens)[self.document]

    def cut(self):
        """Cuts all documents; returns their pairs and the number of skipped chunks."""
        every_sentence = np.arange(len(self.targets))
        *_, following = self._chunks(every_sentence, self.targets, min_sentences=1)
        following = following.tolist()
        chain, start = [], 0
        # The last chunk of a document is followed by the next document's first sentence.
        while start < len(following):
            chain.append(start)
            start = following[start]
        starts = np.array(chain, np.int64)
        pairs, is_kept, _ = self.pairs_at(starts, self.targets[starts], self.max_tokens)
        return pairs.take(is_kept), int(np.count_nonzero(~is_kept))

    def pairs_at(self, starts, targets, limits, min_sentences=1):
        """Returns the pairs of chunks that begin at the sentences `starts`.

        A chunk stops at `targets` tokens, but not before `min_sentences`; a pair is
        truncated to `limits` tokens. Arrays are `(num_chunks,)`.

        Returns:
            Tuple of `SentencePairs`, one a chunk; bool, false for chunks of one sentence
            without a pair; and the first sentence of the next chunk.
        """
        stops, middles, is_negative, following = self._chunks(
            starts, targets, min_sentences
        )
        sentences = np.stack([starts, middles, stops])
        begin, middle, end = self.offsets[sentences]  # tokens, each (num_chunks,)
        remaining = np.maximum(targets - (middle - begin), 1)
        other, length = self._draw_segments(starts, remaining)
        first = begin, middle - begin
        second = (
            np.where(is_negative, other, middle),
            np.where(is_negative, length, end - middle),
        )
        label = is_negative
        if self.objective == "sop":
            is_swapped = ~is_negative & (self.draws.swap[starts] < 0.5)
            first, second = (
                np.where(is_swapped, second, first),
                np.where(is_swapped, first, second),
            )
            label = label | is_swapped
        pairs = SentencePairs(*first, *second, label.astype(np.int64))
        ends = self.draws.first_end[starts], self.draws.second_end[starts]
        is_kept = (stops - starts > 1) | is_negative | (self.objective == "none")
        return truncate_pairs(pairs, limits, *ends), is_kept, following

    def _chunks(self, starts, targets, min_sentences):
        """Returns chunks that begin at sentences `starts`, arrays `(num_chunks,)`.

        Returns:
            Tuple of the chunk's end (exclusive), the first sentence of the second
            segment, whether that comes from another document, and the first sentence of
            the next chunk.
        """
        document = self.document[starts]
        ends = self.document_offsets[document + 1]
        stops = self._stop(starts, targets, document)
        stops = np.minimum(np.maximum(stops, starts + min_sentences), ends)
        num_sentences = stops - starts
        is_single = num_sentences == 1
        if self.objective == "none":
            return stops, stops, np.zeros_like(is_single), stops
        is_negative = is_single & self.completes_singles
        if self.objective == "nsp":
            is_drawn = self.draws.swap[starts] < 0.5
            is_negative |= ~is_single & is_drawn & self.has_others
        splits = _floor(self.draws.middle[starts], np.maximum(num_sentences - 1, 1))
        middles = np.minimum(starts + 1 + splits, stops)
        # Sentences that a negative replaces begin the next chunk.
        return stops, middles, is_negative, np.where(is_negative, middles, stops)

    def _draw_segments(self, starts, targets):
        """Draws segments of other documents; returns their first token and length."""
        last = len(self.document_offsets) - 2
        # One of the other documents: the numbers from the own one on are shifted by 1.
        choices = _floor(self.draws.other_document[starts], last)
        other = np.minimum(choices + (choices >= self.document[starts]), last)
        num_sentences = np.diff(self.document_offsets)[other]
        begin = self.document_offsets[other] + _floor(
            self.draws.other_sentence[starts], num_sentences
        )
        stops = self._stop(begin, targets, other)
        return self.offsets[begin], self.offsets[stops] - self.offsets[begin]

    def _stop(self, starts, targets, documents):
        """Returns the sentences at which `targets` tokens or the document end."""
        reached = np.searchsorted(self.offsets, self.offsets[starts] + targets)
        return np.minimum(reached, self.document_offsets[documents + 1])


def truncate_pairs(pairs, max_tokens, first_uniforms, second_uniforms):
    """Truncates pairs to `max_tokens`, the longer segment first.

    The original drops one token after the other, from the front or the back with equal
    probability. The lengths decide the number of tokens that each segment loses, and
    the number lost at the front is binomial, so one draw a segment is equivalent.
    """
    lengths = [pairs.first_length, pairs.second_length]
    num_first, num_second = kept_lengths(lengths, max_tokens)
    first_front = half_binomial(pairs.first_length - num_first, first_uniforms)
    second_front = half_binomial(pairs.second_length - num_second, second_uniforms)
    return pairs._replace(
        first_start=pairs.first_start + first_front,
        first_length=num_first,
        second_start=pairs.second_start + second_front,
        second_length=num_second,
    )


def half_binomial(counts, uniforms):
    """Returns quantiles of the number of heads among `counts` fair coins.

    These are the smallest numbers, int64, with a cumulative probability above
    `uniforms`, float64.
    """
    quantiles = np.zeros(len(counts), np.int64)
    for count in np.unique(counts[counts > 0]).tolist():
        rows = counts == count
        found = np.searchsorted(_distribution(count), uniforms[rows], side="right")
        quantiles[rows] = np.minimum(found, count)
    return quantiles


@functools.lru_cache(maxsize=256)
def _distribution(count):
    """Returns the cumulative probabilities of 0, 1, ... `count` heads."""
    log_factorials = np.concatenate([[0], np.cumsum(np.log(np.arange(1, count + 1)))])
    ways = log_factorials[-1] - log_factorials - log_factorials[::-1]
    return np.cumsum(np.exp(ways - count * np.log(2)))


def _floor(uniforms, sizes):
    """Maps uniforms in [0, 1) to integers from 0 to `sizes` (exclusive)."""
    return (uniforms * sizes).astype(np.int64)


SENTENCE_PAIRS = ("sop", "nsp", "none")
ONE_SENTENCE_CHUNKS = ("skip", "random_document")
