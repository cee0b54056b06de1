"""Sentence pairs of several objectives, or single segments, cut from documents.

One vectorized step computes where a chunk would end if it began at any sentence of a
block. Then the chain of consecutive chunks is selected. The random numbers are arguments
(`PairDraws`), one set for each sentence.
"""

import functools
from typing import NamedTuple

import numpy as np

from albert_keras.tokenizers.packing import kept_lengths
from albert_keras.tokenizers.ragged import ragged_positions


class PairDraws(NamedTuple):
    """Uniform random numbers in [0, 1), float64, for documents and sentences.

    The numbers of a sentence are used for the chunk that begins with it.
    """

    is_short: np.ndarray  # (num_documents,) whether the target length is shorter
    target: np.ndarray  # (num_documents,) the shorter target length
    middle: np.ndarray  # (num_sentences,) where the chunk is split
    swap: np.ndarray  # (num_sentences,) class of the pair
    other_document: np.ndarray  # (num_sentences,) document of a segment from elsewhere
    other_sentence: np.ndarray  # (num_sentences,) first sentence of that segment
    first_end: np.ndarray  # (num_sentences,) tokens truncated at the front
    second_end: np.ndarray  # (num_sentences,) the same for the second segment


def draw_pairs(rng, num_documents, num_sentences):
    """Returns `PairDraws` from a generator."""
    for_sentences = len(PairDraws._fields) - 2
    return PairDraws(
        *rng.random((2, num_documents)), *rng.random((for_sentences, num_sentences))
    )


class SentencePairs(NamedTuple):
    """Pairs of segments, and their places in the rows of examples, `(num_pairs,)`.

    Segments are positions in the documents' array of tokens. With the objective `"none"`
    the second length is 0. The label is an index in `PAIR_CLASSES`. Pairs are in
    ascending order of row, then column.
    """

    first_start: np.ndarray
    first_length: np.ndarray
    second_start: np.ndarray
    second_length: np.ndarray
    label: np.ndarray
    row: np.ndarray
    column: np.ndarray

    @property
    def lengths(self):
        """Numbers of tokens without special tokens, `(num_pairs,)`."""
        return self.first_length + self.second_length

    @property
    def number_in_row(self):
        """Number of each pair in its row: 0, 1, ..., `(num_pairs,)`."""
        return np.arange(len(self.row)) - np.searchsorted(self.row, self.row)

    def take(self, indices):
        """Returns the pairs at `indices`, or those of a bool mask."""
        return SentencePairs(*(column[indices] for column in self))

    def take_rows(self, rows):
        """Returns the pairs in `rows`, which are then rows 0, 1, ..."""
        begins = np.searchsorted(self.row, rows)  # (num_taken,)
        counts = np.searchsorted(self.row, rows, side="right") - begins
        pairs = self.take(ragged_positions(begins, counts))
        return pairs._replace(row=np.repeat(np.arange(len(rows)), counts))


class PairCutter:
    """Cuts documents into sentence pairs.

    A chunk consists of consecutive sentences up to a target length, which is drawn once
    for each document. It is split between two random sentences into two segments. (A
    split between any two tokens would make the sentence objective too easy.)

    The second segment is drawn with equal probability from these classes, which are in
    the order of `PAIR_CLASSES`:

    - `"sop"`: the following text, or the following text with the segments swapped.
    - `"nsp"`: the following text, or text of a random other document.
    - `"ternary"` (StructBERT): following, swapped, or of a random other document.
    - `"distant"`: the following text, or a random segment of the same document, before or
      after. Between the two segments lies at least a target length (that of a pair),
      besides any gap.

    If the block or the document is too short for a class, the class is not drawn, so
    labels may have different frequencies; the report counts them. If a segment is
    replaced by one from elsewhere, the next chunk begins with its sentences.

    Args:
        documents: `Documents`. Also the source of segments from elsewhere.
        draws: `PairDraws` for these documents.
        config: `PretrainingDataConfig`. With `short_sequence_prob` the target length of a
            document is shorter than `max_tokens`, uniform from 2. Chunks of one sentence
            cannot be split: with `one_sentence_chunks="skip"` they are skipped; with
            `"random_document"` they get a second segment from elsewhere, if there is one
            (for `"distant"` from the same document), and the last label, as in the
            original even for sentence order. `pair_gap` sentences are omitted before the
            following text, fewer at the end of a document, so that a sentence remains.

    Reference: google-research/albert `create_instances_from_document`. Two differences:
    the other document comes from the same block, of about half a million tokens, and a
    single document in a block gives no negatives. Wang et al. 2019, StructBERT, section
    2.2.2.
    """

    def __init__(self, documents, draws, config):
        self.offsets = documents.sentence_offsets
        self.document_offsets = documents.document_offsets
        self.draws, self.config = draws, config
        sizes = np.diff(self.document_offsets)
        self.document = np.repeat(np.arange(len(sizes)), sizes)  # (num_sentences,)
        self.completes_singles = config.one_sentence_chunks == "random_document"
        self.num_classes = len(PAIR_CLASSES[config.sentence_pairs])
        # All objectives except sentence order have a class of segments from elsewhere.
        self.draws_elsewhere = config.sentence_pairs != "sop"
        short = 2 + _floor(draws.target, config.max_tokens - 1)  # (num_documents,)
        is_short = draws.is_short < config.short_sequence_prob
        # (num_sentences,)
        self.targets = np.where(is_short, short, config.max_tokens)[self.document]

    def cut(self):
        """Returns pairs of all documents, one a row, and the number of skipped chunks."""
        every_sentence = np.arange(len(self.targets))
        pairs, is_kept, following = self.pairs_at(every_sentence, self.targets)
        following, chain, start = following.tolist(), [], 0
        # After the last chunk of a document comes the first sentence of the next one.
        while start < len(following):
            chain.append(start)
            start = following[start]
        chain = np.array(chain, np.int64)
        starts = chain[is_kept[chain]]
        pairs, limit = pairs.take(starts), self.config.max_tokens
        pairs = truncate_pairs(pairs, limit, self.draws, starts)
        return pairs._replace(row=np.arange(len(starts))), len(chain) - len(starts)

    def pairs_at(self, starts, targets, min_sentences=1):
        """Returns the pairs of the chunks that begin at the sentences `starts`.

        A chunk has at least `min_sentences`, and ends after `targets` tokens. Arrays are
        `(num_chunks,)`.

        Returns:
            Tuple of `SentencePairs`, one for each chunk, which may be too long; bool,
            false for chunks of one sentence without a pair; and the first sentences of
            the next chunks.
        """
        ends = self.document_offsets[self.document[starts] + 1]
        stops = np.maximum(self._stop(starts, targets), starts + min_sentences)
        stops = np.minimum(stops, ends)
        num_sentences, zeros = stops - starts, np.zeros(starts.shape, np.int64)
        if self.config.sentence_pairs == "none":
            begin, end = self.offsets[starts], self.offsets[stops]
            pairs = SentencePairs(begin, end - begin, end, *[zeros] * 4)
            return pairs, np.ones(starts.shape, bool), stops
        is_single = num_sentences == 1
        splits = _floor(self.draws.middle[starts], np.maximum(num_sentences - 1, 1))
        middle = np.minimum(starts + 1 + splits, stops)
        first = self.offsets[starts], self.offsets[middle] - self.offsets[starts]
        lengths = np.maximum(targets - first[1], 1)  # of the second segments
        next_one = np.minimum(middle + self.config.pair_gap, ends - 1)
        elsewhere, exists = self._draw_elsewhere(starts, next_one, lengths)
        num_labels = self.num_classes - (self.draws_elsewhere & ~exists)
        label = num_labels - 1 - _floor(self.draws.swap[starts], num_labels)
        label = np.where(is_single, self.num_classes - 1, label)
        may_move = np.where(is_single, self.completes_singles, self.draws_elsewhere)
        is_moved = exists & may_move & (label == self.num_classes - 1)
        is_swapped = ~is_moved & (label == 1)
        begin = np.where(is_moved, elsewhere, next_one)
        end = self._stop(begin, lengths)
        second = self.offsets[begin], self.offsets[end] - self.offsets[begin]
        segments = np.where(is_swapped, [second, first], [first, second])
        following = np.where(is_moved | is_single, middle, end)
        pairs = SentencePairs(*segments[0], *segments[1], label, zeros, zeros)
        return pairs, ~is_single | is_moved, following

    def _draw_elsewhere(self, starts, next_one, lengths):
        """Draws the first sentences of segments from elsewhere.

        Returns:
            Tuple of sentences, and bool, false if there is no such segment.
        """
        if self.config.sentence_pairs == "distant":
            return self._draw_distant(starts, next_one, lengths)
        last = len(self.document_offsets) - 2
        # One of the other documents: numbers from the chunk's own on are shifted by 1.
        choices = _floor(self.draws.other_document[starts], last)
        other = np.minimum(choices + (choices >= self.document[starts]), last)
        num_sentences = np.diff(self.document_offsets)[other]
        places = _floor(self.draws.other_sentence[starts], num_sentences)
        return self.document_offsets[other] + places, np.full(starts.shape, last > 0)

    def _draw_distant(self, starts, next_one, lengths):
        """Draws segments of `lengths` tokens in the same document, far from the chunks.

        A segment can begin at `num_places` sentences, of which the first `num_before` are
        before the chunk.
        """
        begin = self.document_offsets[self.document[starts]]
        end = self.document_offsets[self.document[starts] + 1]
        distance = self.targets[starts]
        gap_begin = np.maximum(starts - self.config.pair_gap, begin)
        limits = self.offsets[gap_begin] - distance
        last_end = np.searchsorted(self.offsets, limits, side="right") - 1
        limits = self.offsets[np.maximum(last_end, 0)] - lengths
        num_before = np.searchsorted(self.offsets, limits, side="right") - begin
        num_before = np.maximum(num_before, 0)
        after = np.searchsorted(self.offsets, self.offsets[next_one] + distance)
        num_places = num_before + np.maximum(end - after, 0)
        places = _floor(self.draws.other_sentence[starts], num_places)
        places += np.where(places < num_before, begin, after - num_before)
        return np.minimum(places, end - 1), num_places > 0

    def _stop(self, starts, targets):
        """Returns the sentences where `targets` tokens, or the documents, end."""
        reached = np.searchsorted(self.offsets, self.offsets[starts] + targets)
        return np.minimum(reached, self.document_offsets[self.document[starts] + 1])


def truncate_pairs(pairs, max_tokens, draws, starts):
    """Truncates pairs to `max_tokens`, the longer segment first.

    The draws are those of `starts`, the first sentences of the pairs.

    The original drops single tokens, from the front or the back with equal probability.
    The number of tokens that a segment loses depends only on the lengths, and the number
    lost at the front is binomial. So one draw for each segment is equivalent.
    """
    lengths = [pairs.first_length, pairs.second_length]
    num_first, num_second = kept_lengths(lengths, max_tokens)
    lost = pairs.first_length - num_first, pairs.second_length - num_second
    first_start = pairs.first_start + half_binomial(lost[0], draws.first_end[starts])
    second_start = pairs.second_start + half_binomial(lost[1], draws.second_end[starts])
    return SentencePairs(first_start, num_first, second_start, num_second, *pairs[4:])


def half_binomial(counts, uniforms):
    """Returns quantiles of the number of heads among `counts` fair coins.

    The result, int64, is the smallest number whose cumulative probability is above
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


# Names of the classes of pairs by objective, in the order of labels.
PAIR_CLASSES = {
    "sop": ("in order", "swapped"),
    "nsp": ("next", "random"),
    "ternary": ("next", "previous", "random"),
    "distant": ("near", "far"),
    "none": (),
}
ONE_SENTENCE_CHUNKS = ("skip", "random_document")
