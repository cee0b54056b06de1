"""Documents to sentence pairs: sentence order, next sentence, or no pairs."""

from typing import NamedTuple

import numpy as np


class SentencePair(NamedTuple):
    """Two runs of token ids and the label of the sentence objective.

    Attributes:
        first: int32, `(num_first,)`.
        second: int32, `(num_second,)`. Empty when the objective has no pairs.
        label: int. 0 = in order, 1 = swapped or from another document.
    """

    first: np.ndarray
    second: np.ndarray
    label: int


def make_pairs(
    documents,
    index,
    rng,
    *,
    objective="sop",
    max_tokens=509,
    short_sequence_prob=0.1,
    one_sentence_chunks="skip",
):
    """Cuts one document into sentence pairs.

    Sentences are gathered until they reach a target length, drawn once for the whole
    document; such a chunk is split at a random sentence. Concatenating all tokens and
    splitting anywhere would make the sentence objective too easy.

    Args:
        documents: list of `TokenizedDocument`, none empty. Negatives come from these.
        index: int. Position in `documents` of the one to cut.
        rng: `numpy.random.Generator`, for this document alone.
        objective: str, a key of `SENTENCE_PAIRS`.
        max_tokens: int >= 2. Longest pair, in tokens, without special tokens.
        short_sequence_prob: float in [0, 1]. How often the target is shorter than
            `max_tokens`, uniform from 2. 0.1 as the original.
        one_sentence_chunks: str, one of `ONE_SENTENCE_CHUNKS`. What becomes of a chunk
            that cannot be split: `"skip"` leaves it out, so that labels mean what the
            objective says; `"random_document"` gives it a second segment from another
            document and label 1, as the original does even for sentence order. With
            no other document in `documents` it is skipped.

    Returns:
        Tuple of the list of `SentencePair` and the number of chunks skipped.

    Reference: google-research/albert `create_instances_from_document`; differs in that
    the other document comes from `documents`, not from the whole corpus, and that a
    document alone there gives no negatives (the original takes them from itself).
    """
    document = documents[index]
    target = max_tokens
    if rng.random() < short_sequence_prob:
        target = int(rng.integers(2, max_tokens, endpoint=True))
    pairs, num_skipped, start = [], 0, 0
    while start < document.num_sentences:
        stop = _chunk_stop(document, start, target)
        chunk = _Chunk(documents, index, start, stop, target)
        if objective == "none" or stop - start > 1:
            pair, start = SENTENCE_PAIRS[objective](chunk, rng)
        elif one_sentence_chunks == "random_document" and len(documents) > 1:
            pair, start = chunk.with_random_document(stop, rng)
        else:
            num_skipped, start = num_skipped + 1, stop
            continue
        pairs.append(truncate_pair(pair, max_tokens, rng))
    return pairs, num_skipped


def truncate_pair(pair, max_tokens, rng):
    """Shortens a pair to `max_tokens` in all, tokens leaving the longer side first.

    The original drops one token after the other, each from the front or the back with
    equal probability. How many each side loses is fixed by the lengths, and how many
    of these leave in front is binomial, so one draw a side gives the same outcome.

    Args:
        pair: `SentencePair`.
        max_tokens: int. Tokens that stay at most, both sides together.
        rng: `numpy.random.Generator`.

    Returns:
        `SentencePair`, the same one if it fits.
    """
    first, second, label = pair
    if len(first) + len(second) <= max_tokens:
        return pair
    # At equal length the second side loses first, hence the rounding up.
    num_first = max(max_tokens - len(second), (max_tokens + 1) // 2)
    num_first = min(num_first, len(first))
    return SentencePair(
        _truncate_ends(first, num_first, rng),
        _truncate_ends(second, max_tokens - num_first, rng),
        label,
    )


def _truncate_ends(token_ids, num_kept, rng):
    start = rng.binomial(len(token_ids) - num_kept, 0.5)
    return token_ids[start : start + num_kept]


def _chunk_stop(document, start, target):
    offsets = document.sentence_offsets
    stop = np.searchsorted(offsets, offsets[start] + target)
    return min(int(stop), document.num_sentences)


class _Chunk(NamedTuple):
    """Sentences `start` to `stop` of `documents[index]`: about `target` tokens."""

    documents: list
    index: int
    start: int
    stop: int
    target: int

    @property
    def document(self):
        return self.documents[self.index]

    def draw_middle(self, rng):
        return int(rng.integers(self.start + 1, self.stop))

    def with_random_document(self, middle, rng):
        """Pairs the sentences before `middle` with another document's.

        The sentences from `middle` on are not used and begin the next chunk.
        """
        first = self.document.tokens(self.start, middle)
        choice = int(rng.integers(len(self.documents) - 1))
        other = self.documents[choice + (choice >= self.index)]
        begin = int(rng.integers(other.num_sentences))
        end = _chunk_stop(other, begin, max(1, self.target - len(first)))
        return SentencePair(first, other.tokens(begin, end), 1), middle


def _sentence_order(chunk, rng):
    middle = chunk.draw_middle(rng)
    first = chunk.document.tokens(chunk.start, middle)
    second = chunk.document.tokens(middle, chunk.stop)
    if rng.random() < 0.5:
        return SentencePair(second, first, 1), chunk.stop
    return SentencePair(first, second, 0), chunk.stop


def _next_sentence(chunk, rng):
    middle = chunk.draw_middle(rng)
    # A segment of the same document would be no negative.
    if rng.random() < 0.5 and len(chunk.documents) > 1:
        return chunk.with_random_document(middle, rng)
    first = chunk.document.tokens(chunk.start, middle)
    second = chunk.document.tokens(middle, chunk.stop)
    return SentencePair(first, second, 0), chunk.stop


def _no_pair(chunk, rng):
    tokens = chunk.document.tokens(chunk.start, chunk.stop)
    return SentencePair(tokens, tokens[:0], 0), chunk.stop


SENTENCE_PAIRS = {"sop": _sentence_order, "nsp": _next_sentence, "none": _no_pair}
ONE_SENTENCE_CHUNKS = ("skip", "random_document")
