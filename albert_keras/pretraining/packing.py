"""Sentence pairs to rows of a fixed length: one pair a row, or rows filled with many."""

from typing import NamedTuple

import numpy as np

from albert_keras.pretraining.documents import split_marks
from albert_keras.pretraining.pairs import SentencePairs
from albert_keras.tokenizers.packing import Segments, pack_segments
from albert_keras.tokenizers.ragged import ragged_positions

# Rows are filled side by side, to work on that many documents at once.
_LANES = 8


class Places(NamedTuple):
    """Where pairs stand: pair `i` begins at `columns[i]` of row `rows[i]`.

    Attributes:
        rows, columns: int64, `(num_pairs,)`, in ascending order.
        num_rows: int.
    """

    rows: np.ndarray
    columns: np.ndarray
    num_rows: int

    def take_rows(self, rows):
        """Returns the pairs that stand in `rows`, and their places when those are all.

        Args:
            rows: int64, `(num_taken,)`.

        Returns:
            Tuple of the pairs' indices and `Places` of `num_taken` rows.
        """
        begins = np.searchsorted(self.rows, rows)
        counts = np.searchsorted(self.rows, rows, side="right") - begins
        pairs = ragged_positions(begins, counts)
        taken = np.repeat(np.arange(len(rows)), counts)
        return pairs, Places(taken, self.columns[pairs], len(rows))


def one_a_row(num_pairs):
    """Returns the `Places` of pairs that have a row each."""
    return Places(np.arange(num_pairs), np.zeros(num_pairs, np.int64), num_pairs)


def num_special_tokens(objective):
    """Returns how many special tokens a pair, or a segment alone, is packed with."""
    return 2 if objective == "none" else 3


def max_pairs(sequence_length):
    """Returns how many pairs a filled row holds at most."""
    return max(1, sequence_length // 16)


def fill_rows(cutter, sequence_length):
    """Cuts documents into pairs that fill rows one after the other.

    A chunk's target is what is left of the row, if that is less than its document's. A
    row is left for the next one when a thirty-second of it or less is free, so that
    1.6 % of it is padding at most on average; where the room is short a pair still has
    a sentence each, truncated.

    Args:
        cutter: `PairCutter`.
        sequence_length: int. Length of a row, in tokens.

    Returns:
        Tuple of `SentencePairs`, their `Places`, and the number of chunks skipped.
    """
    specials = num_special_tokens(cutter.objective)
    least_room = max(sequence_length // 32, specials + 2)
    num_documents = len(cutter.document_offsets) - 1
    bounds = np.linspace(0, num_documents, _LANES + 1).astype(np.int64)
    starts, ends = cutter.document_offsets[np.stack([bounds[:-1], bounds[1:]])]
    rows, columns = np.arange(_LANES), np.zeros(_LANES, np.int64)
    counts, num_rows, num_skipped, made = np.zeros(_LANES, int), _LANES, 0, []
    while (active := np.flatnonzero(starts < ends)).size:
        room = sequence_length - columns[active] - specials
        targets = np.minimum(cutter.targets[starts[active]], room)
        pairs, is_kept, following = cutter.pairs_at(
            starts[active], targets, room, min_sentences=2
        )
        starts[active] = following
        num_skipped += int(np.count_nonzero(~is_kept))
        lanes, pairs = active[is_kept], pairs.take(is_kept)
        made.append((*pairs, rows[lanes], columns[lanes]))
        columns[lanes] += pairs.lengths + specials
        counts[lanes] += 1
        is_full = sequence_length - columns < least_room
        full = np.flatnonzero(is_full | (counts == max_pairs(sequence_length)))
        rows[full] = num_rows + np.arange(len(full))
        columns[full] = counts[full] = 0
        num_rows += len(full)
    *pairs, rows, columns = map(np.concatenate, zip(*made, strict=True))
    order = np.lexsort((columns, rows))
    # Some rows were begun for lanes that had come to their end.
    used, rows = np.unique(rows[order], return_inverse=True)
    places = Places(rows, columns[order], len(used))
    return SentencePairs(*pairs).take(order), places, num_skipped


def pack_pairs(pairs, places, marked_ids, *, sequence_length, encoder):
    """Packs pairs as `[CLS] first [SEP] second [SEP]`, or `[CLS] first [SEP]`.

    All pairs are packed at once: their tokens are gathered end to end and put to their
    places by two index arrays.

    Args:
        pairs: `SentencePairs`. Without a second segment its separator is left out too.
        places: `Places`.
        marked_ids: int, `(num_tokens,)`. What the pairs are places in.
        sequence_length: int. Length of a row, in tokens.
        encoder: gives `cls_token_id`, `sep_token_id` and `pad_token_id`.

    Returns:
        Dict of arrays `(num_rows, sequence_length)`: int32 `token_ids`, `segment_ids`
        (0 up to a pair's first separator, 1 after it, 0 on padding), `sequence_ids`
        (1, 2, ... for the pairs of a row, 0 on padding), and bool `word_starts`, true
        for special tokens.

    Raises:
        ValueError: If a pair does not fit. Truncation is the caller's decision.

    Reference: google-research/albert `create_instances_from_document`.
    """
    num_pairs = len(pairs.label)
    offsets, arrays = pack_segments(
        [
            Segments(marked_ids, pairs.first_start, pairs.first_length),
            Segments(marked_ids, pairs.second_start, pairs.second_length),
        ],
        # Special tokens count as beginnings of words.
        2 * encoder.cls_token_id + 1,
        2 * encoder.sep_token_id + 1,
        keep_empty=False,
    )
    totals = np.diff(offsets)
    if (places.columns + totals).max(initial=0) > sequence_length:
        raise ValueError(
            "`sequence_length` must hold the longest pair with its special tokens. "
            f"Received: sequence_length={sequence_length}, "
            f"longest={(places.columns + totals).max()}."
        )
    targets = ragged_positions(places.rows * sequence_length + places.columns, totals)
    token_ids, word_starts = split_marks(arrays["token_ids"])
    # Pairs of a row follow each other: the first of each row counts from 1 again.
    first = np.searchsorted(places.rows, places.rows) if num_pairs else places.rows
    numbers = np.repeat((np.arange(num_pairs) - first + 1).astype(np.int32), totals)

    def put(values, rest=0):
        rows = np.full(places.num_rows * sequence_length, rest, values.dtype)
        rows[targets] = values
        return rows.reshape(places.num_rows, sequence_length)

    return {
        "token_ids": put(token_ids, encoder.pad_token_id),
        "segment_ids": put(arrays["segment_ids"]),
        "sequence_ids": put(numbers),
        "word_starts": put(word_starts),
    }
