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
    """Uniform random numbers in [0, 1), float64, for each document or sentence.

    Those of a sentence are for the chunk that begins with it.

    Attributes:
        is_short: `(num_documents,)`. Whether the document has a shorter target length.
        target: `(num_documents,)`. That target length.
        middle: `(num_sentences,)`. Where the chunk is split.
        swap: `(num_sentences,)`. Whether its segments are swapped, or its second one
            comes from another document.
        other_document, other_sentence: `(num_sentences,)`. Where that one begins.
        first_end, second_end: `(num_sentences,)`. Tokens truncated at the front of
            each segment.
    """

    is_short: np.ndarray
    target: np.ndarray
    middle: np.ndarray
    swap: np.ndarray
    other_document: np.ndarray
    other_sentence: np.ndarray
    first_end: np.ndarray
    second_end: np.ndarray


def draw_pairs(rng, num_documents, num_sentences):
    """Returns `PairDraws` from a generator."""
    for_sentences = len(PairDraws._fields) - 2
    return PairDraws(
        *rng.random((2, num_documents)), *rng.random((for_sentences, num_sentences))
    )


class SentencePairs(NamedTuple):
    """Pairs of segments, as positions in the documents' flat array of tokens.

    Attributes:
        first_start, first_length: int64 `(num_pairs,)`. First segment.
        second_start, second_length: int64 `(num_pairs,)`. Second segment; of length 0
            for the objective `"none"`.
        label: int64 `(num_pairs,)`. 0 = in order, 1 = swapped or from another document.
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


class _Chunks(NamedTuple):
    """Chunks of sentences; all arrays are `(num_chunks,)`."""

    stops: np.ndarray  # end of the chunk, exclusive
    middles: np.ndarray  # first sentence of the second segment
    is_negative: np.ndarray  # whether that one comes from another document

    @property
    def following(self):
        """First sentence of the next chunk: those that a negative replaces return."""
        return np.where(self.is_negative, self.middles, self.stops)


class PairCutter:
    """Cuts documents into sentence pairs.

    A chunk is consecutive sentences up to a target length, drawn once for the document,
    and is split into two segments between two random sentences. Splitting anywhere
    between tokens would make the sentence objective too easy.

    Args:
        documents: `Documents`. Negatives come from these too.
        draws: `PairDraws` for these documents.
        config: `PretrainingDataConfig`. A document's target is shorter than `max_tokens`
            with `short_sequence_prob`, then uniform from 2. With `one_sentence_chunks`,
            `"skip"` skips chunks of one sentence, which cannot be split;
            `"random_document"` adds a second segment from another document and label
            1, as the original does even for sentence order. Without another document
            they are skipped.

    Reference: google-research/albert `create_instances_from_document`; differs in that
    the other document comes from the same block, of about half a million tokens from
    the whole corpus, and that a single document in a block gives no negatives (the
    original takes them from that document).
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
        chunks = self._chunks(every_sentence, self.targets, min_sentences=1)
        following = chunks.following.tolist()
        chain, start = [], 0
        # The last chunk of a document is followed by the next document's first sentence.
        while start < len(following):
            chain.append(start)
            start = following[start]
        starts = np.array(chain, np.int64)
        pairs, is_kept, _ = self.pairs_at(starts, self.targets[starts], self.max_tokens)
        return pairs.take(is_kept), int(np.count_nonzero(~is_kept))

    def pairs_at(self, starts, targets, limits, min_sentences=1):
        """Returns the pairs of chunks that begin at given sentences.

        Args:
            starts: int64 `(num_chunks,)`. First sentence of each chunk.
            targets: int64 `(num_chunks,)`. Tokens at which a chunk stops.
            limits: int, or int64 `(num_chunks,)`. Most tokens of a pair.
            min_sentences: int. Fewest sentences of a chunk, where its document has
                them.

        Returns:
            Tuple of `SentencePairs`, one a chunk; bool `(num_chunks,)`, false for
            chunks of one sentence without a pair; and int64 `(num_chunks,)`, the first
            sentence of the next chunk.
        """
        chunks = self._chunks(starts, targets, min_sentences)
        sentences = np.stack([starts, chunks.middles, chunks.stops])
        begin, middle, end = self.offsets[sentences]  # tokens, each (num_chunks,)
        remaining = np.maximum(targets - (middle - begin), 1)
        other, length = self._draw_segments(starts, remaining)
        first = begin, middle - begin
        second = (
            np.where(chunks.is_negative, other, middle),
            np.where(chunks.is_negative, length, end - middle),
        )
        label = chunks.is_negative
        if self.objective == "sop":
            is_swapped = ~chunks.is_negative & (self.draws.swap[starts] < 0.5)
            first, second = (
                np.where(is_swapped, second, first),
                np.where(is_swapped, first, second),
            )
            label = label | is_swapped
        pairs = SentencePairs(*first, *second, label.astype(np.int64))
        ends = self.draws.first_end[starts], self.draws.second_end[starts]
        is_kept = (chunks.stops - starts > 1) | chunks.is_negative
        if self.objective == "none":
            is_kept[:] = True
        return truncate_pairs(pairs, limits, *ends), is_kept, chunks.following

    def _chunks(self, starts, targets, min_sentences):
        """Returns the `_Chunks` that begin at sentences `starts`, `(num_chunks,)`."""
        document = self.document[starts]
        ends = self.document_offsets[document + 1]
        stops = self._stop(starts, targets, document)
        stops = np.minimum(np.maximum(stops, starts + min_sentences), ends)
        num_sentences = stops - starts
        is_single = num_sentences == 1
        if self.objective == "none":
            return _Chunks(stops, stops, np.zeros_like(is_single))
        is_negative = is_single & self.completes_singles
        if self.objective == "nsp":
            is_drawn = self.draws.swap[starts] < 0.5
            is_negative |= ~is_single & is_drawn & self.has_others
        splits = _floor(self.draws.middle[starts], np.maximum(num_sentences - 1, 1))
        return _Chunks(stops, np.minimum(starts + 1 + splits, stops), is_negative)

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

    Args:
        pairs: `SentencePairs`.
        max_tokens: int, or int array `(num_pairs,)`. Most tokens of both segments.
        first_uniforms, second_uniforms: float64 `(num_pairs,)`. Draws in [0, 1).
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
