"""Documents to sentence pairs: sentence order, next sentence, or no pairs.

Every sentence of a block is looked at as if a chunk began there, all at once, with the
random numbers of that sentence; then the chain of chunks that do follow each other is
picked out. The random numbers are arguments (`PairDraws`), so that what is drawn does
not depend on how the work is cut.
"""

import functools
from typing import NamedTuple

import numpy as np


class PairDraws(NamedTuple):
    """Uniform numbers in [0, 1), float64.

    Attributes:
        is_short: `(num_documents,)`. Whether the document's target is a short one.
        target: `(num_documents,)`. Which.
        middle: `(num_sentences,)`. Where a chunk that begins here is split.
        swap: `(num_sentences,)`. Whether its segments are swapped, or its second one is
            taken from another document.
        other_document: `(num_sentences,)`. From which.
        other_sentence: `(num_sentences,)`. From where in it.
        first_end, second_end: `(num_sentences,)`. How much of what a segment has too
            much is taken off in front.
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
    """Draws what cutting documents into pairs needs, as one `PairDraws`."""
    of_sentences = len(PairDraws._fields) - 2
    return PairDraws(
        *rng.random((2, num_documents)), *rng.random((of_sentences, num_sentences))
    )


class SentencePairs(NamedTuple):
    """Pairs of token runs, as places in the documents' flat array of tokens.

    Attributes:
        first_start, first_length: int64, `(num_pairs,)`. The first segment.
        second_start, second_length: int64, `(num_pairs,)`. The second one, of length 0
            when the objective has no pairs.
        label: int64, `(num_pairs,)`. 0 = in order, 1 = swapped or from another document.
    """

    first_start: np.ndarray
    first_length: np.ndarray
    second_start: np.ndarray
    second_length: np.ndarray
    label: np.ndarray

    @property
    def lengths(self):
        """Tokens of each pair, without special ones."""
        return self.first_length + self.second_length

    def take(self, rows):
        """Returns the pairs at `rows`: indices, slice or bool mask."""
        return SentencePairs(*(column[rows] for column in self))


class _Chunks(NamedTuple):
    """Where chunks stop, where they split, and whether they draw another segment."""

    stops: np.ndarray
    middles: np.ndarray
    is_drawn: np.ndarray

    @property
    def following(self):
        # The sentences that a random segment displaces begin the next chunk.
        return np.where(self.is_drawn, self.middles, self.stops)


class PairCutter:
    """Cuts documents into sentence pairs.

    Sentences are gathered until they reach a target length, drawn once for the whole
    document; such a chunk is split at a random sentence. Concatenating all tokens and
    splitting anywhere would make the sentence objective too easy.

    Args:
        documents: `Documents`. Negatives come from these.
        draws: `PairDraws` of as many documents and sentences.
        objective: str, one of `SENTENCE_PAIRS`.
        max_tokens: int >= 2. Longest pair, in tokens, without special tokens.
        short_sequence_prob: float in [0, 1]. How often a document's target is shorter
            than `max_tokens`, uniform from 2. 0.1 as the original.
        one_sentence_chunks: str, one of `ONE_SENTENCE_CHUNKS`. What becomes of a chunk
            that cannot be split: `"skip"` leaves it out, so that labels mean what the
            objective says; `"random_document"` gives it a second segment from another
            document and label 1, as the original does even for sentence order. With
            no other document it is skipped.

    Reference: google-research/albert `create_instances_from_document`; differs in that
    the other document comes from the block, of about half a million tokens, in which
    documents of the whole corpus meet by chance, and that a document alone there gives
    no negatives (the original takes them from itself).
    """

    def __init__(
        self,
        documents,
        draws,
        *,
        objective="sop",
        max_tokens=509,
        short_sequence_prob=0.1,
        one_sentence_chunks="skip",
    ):
        self.offsets = documents.sentence_offsets
        self.document_offsets = documents.document_offsets
        self.draws = draws
        self.objective = objective
        self.max_tokens = max_tokens
        self.document = np.repeat(
            np.arange(documents.num_documents), np.diff(self.document_offsets)
        )
        self.may_draw = documents.num_documents > 1
        self.draws_for_one = self.may_draw and one_sentence_chunks == "random_document"
        short = 2 + _floor(draws.target, max_tokens - 1)
        is_short = draws.is_short < short_sequence_prob
        self.targets = np.where(is_short, short, max_tokens)[self.document]

    def cut(self):
        """Cuts all documents, from their first sentence to their last.

        Returns:
            Tuple of `SentencePairs`, each of at most `max_tokens`, and the number of
            chunks skipped for being one sentence.
        """
        following = self._following(np.arange(len(self.targets))).tolist()
        chain, start = [], 0
        # What follows a document's last chunk is the next document's first sentence.
        while start < len(following):
            chain.append(start)
            start = following[start]
        starts = np.array(chain, np.int64)
        pairs, is_kept, _ = self.pairs_at(starts, self.targets[starts], self.max_tokens)
        return pairs.take(is_kept), int(np.count_nonzero(~is_kept))

    def pairs_at(self, starts, targets, limits, min_sentences=1):
        """Makes the pairs of the chunks that begin at some sentences.

        Args:
            starts: int64, `(num_chunks,)`. The sentences.
            targets: int64, `(num_chunks,)`. Tokens that a chunk has when it stops.
            limits: int, or int64 `(num_chunks,)`. Tokens of a pair, at most.
            min_sentences: int. Sentences that a chunk takes before it stops for having
                reached its target.

        Returns:
            Tuple of `SentencePairs`, one a chunk; bool `(num_chunks,)`, false where it
            is one sentence that gives no pair; and int64 `(num_chunks,)`, where the
            next chunk begins.
        """
        chunks = self._chunks(starts, targets, min_sentences)
        begin, middle, end = (
            self.offsets[at] for at in (starts, chunks.middles, chunks.stops)
        )
        room = np.maximum(targets - (middle - begin), 1)
        other, length = self._draw_segments(starts, room)
        pairs = SentencePairs(
            first_start=begin,
            first_length=middle - begin,
            second_start=np.where(chunks.is_drawn, other, middle),
            second_length=np.where(chunks.is_drawn, length, end - middle),
            label=chunks.is_drawn.astype(np.int64),
        )
        if self.objective == "sop":
            is_swapped = ~chunks.is_drawn & (self.draws.swap[starts] < 0.5)
            pairs = _swap(pairs, is_swapped)
        ends = self.draws.first_end[starts], self.draws.second_end[starts]
        is_kept = (chunks.stops - starts > 1) | chunks.is_drawn
        if self.objective == "none":
            is_kept[:] = True
        return truncate_pairs(pairs, limits, *ends), is_kept, chunks.following

    def _following(self, starts):
        return self._chunks(starts, self.targets[starts], 1).following

    def _chunks(self, starts, targets, min_sentences):
        document = self.document[starts]
        stops = self._stop(starts, targets, document)
        ends = self.document_offsets[document + 1]
        stops = np.minimum(np.maximum(stops, starts + min_sentences), ends)
        num_sentences = stops - starts
        is_single = num_sentences == 1
        if self.objective == "none":
            return _Chunks(stops, stops, np.zeros_like(is_single))
        is_drawn = is_single & self.draws_for_one
        if self.objective == "nsp":
            is_negative = self.draws.swap[starts] < 0.5
            is_drawn |= ~is_single & is_negative & self.may_draw
        splits = _floor(self.draws.middle[starts], np.maximum(num_sentences - 1, 1))
        return _Chunks(stops, np.minimum(starts + 1 + splits, stops), is_drawn)

    def _draw_segments(self, starts, targets):
        """Returns begin and length, in tokens, of another document's sentences."""
        last = len(self.document_offsets) - 2
        choices = _floor(self.draws.other_document[starts], last)
        other = np.minimum(choices + (choices >= self.document[starts]), last)
        num_sentences = np.diff(self.document_offsets)[other]
        begin = self.document_offsets[other] + _floor(
            self.draws.other_sentence[starts], num_sentences
        )
        stops = self._stop(begin, targets, other)
        return self.offsets[begin], self.offsets[stops] - self.offsets[begin]

    def _stop(self, starts, targets, documents):
        """Returns the first sentence before which `targets` tokens have been reached."""
        reached = np.searchsorted(self.offsets, self.offsets[starts] + targets)
        return np.minimum(reached, self.document_offsets[documents + 1])


def truncate_pairs(pairs, max_tokens, first_uniforms, second_uniforms):
    """Shortens pairs to `max_tokens` in all, tokens leaving the longer side first.

    The original drops one token after the other, each from the front or the back with
    equal probability. How many each side loses is fixed by the lengths, and how many
    of these leave in front is binomial, so one draw a side gives the same outcome.

    Args:
        pairs: `SentencePairs`.
        max_tokens: int, or int array `(num_pairs,)`. Tokens that stay at most, both
            sides together.
        first_uniforms, second_uniforms: float64, `(num_pairs,)`. The draws.

    Returns:
        `SentencePairs`.
    """
    # At equal length the second side loses first, hence the rounding up.
    num_first = np.maximum(max_tokens - pairs.second_length, (max_tokens + 1) // 2)
    num_first = np.minimum(num_first, pairs.first_length)
    num_second = np.minimum(max_tokens - num_first, pairs.second_length)
    first_front = half_binomial(pairs.first_length - num_first, first_uniforms)
    second_front = half_binomial(pairs.second_length - num_second, second_uniforms)
    return SentencePairs(
        pairs.first_start + first_front,
        num_first,
        pairs.second_start + second_front,
        num_second,
        pairs.label,
    )


def half_binomial(counts, uniforms):
    """Returns quantiles of the binomial distributions of `counts` fair coins.

    Args:
        counts: int, `(size,)`.
        uniforms: float64, `(size,)`. Which quantile, in [0, 1).

    Returns:
        int64, `(size,)`: the smallest number of heads that is more likely than
        `uniforms` not to be exceeded.
    """
    quantiles = np.zeros(len(counts), np.int64)
    for count in np.unique(counts[counts > 0]).tolist():
        rows = counts == count
        found = np.searchsorted(_distribution(count), uniforms[rows], side="right")
        quantiles[rows] = np.minimum(found, count)
    return quantiles


@functools.lru_cache(maxsize=256)
def _distribution(count):
    """Returns the probabilities of at most 0, 1, ... `count` heads."""
    log_factorials = np.concatenate([[0], np.cumsum(np.log(np.arange(1, count + 1)))])
    ways = log_factorials[-1] - log_factorials - log_factorials[::-1]
    return np.cumsum(np.exp(ways - count * np.log(2)))


def _swap(pairs, is_swapped):
    first = np.where(is_swapped, pairs.second_start, pairs.first_start)
    first_length = np.where(is_swapped, pairs.second_length, pairs.first_length)
    second = np.where(is_swapped, pairs.first_start, pairs.second_start)
    second_length = np.where(is_swapped, pairs.first_length, pairs.second_length)
    label = np.where(is_swapped, 1, pairs.label)
    return SentencePairs(first, first_length, second, second_length, label)


def _floor(uniforms, sizes):
    """Draws integers from 0 to `sizes` (exclusive)."""
    return (uniforms * sizes).astype(np.int64)


SENTENCE_PAIRS = ("sop", "nsp", "none")
ONE_SENTENCE_CHUNKS = ("skip", "random_document")
