"""Packing of sentence pairs into rows, one pair in each row or as many as fit."""

import numpy as np

from albert_keras.pretraining.documents import split_marks
from albert_keras.pretraining.pairs import SentencePairs, truncate_pairs
from albert_keras.tokenizers.packing import Segments, pack_segments
from albert_keras.tokenizers.ragged import ragged_positions

# Number of rows that are filled at the same time, from different documents.
_LANES = 8


def max_pairs(sequence_length):
    """Returns the maximum number of pairs in a filled row."""
    return max(1, sequence_length // 16)


def fill_rows(cutter, sequence_length):
    """Cuts documents into pairs that fill rows.

    The target length of a chunk is at most the free part of its row. A row is complete
    if at most 1/32 of it is free, so on average at most 1.6 % of a row is padding. If the
    free part is short, a pair is truncated, but still has a sentence in each segment.

    Returns:
        Tuple of `SentencePairs` and the number of skipped chunks.
    """
    num_special = cutter.config.num_special
    least_free = max(sequence_length // 32, num_special + 2)
    # Each lane fills one row at a time, from its own share of the documents.
    num_documents = len(cutter.document_offsets) - 1
    bounds = np.linspace(0, num_documents, _LANES + 1).astype(np.int64)
    bounds = cutter.document_offsets[bounds]
    sentences, ends = bounds[:-1].copy(), bounds[1:]  # (_LANES,) next sentence, last
    rows, columns = np.arange(_LANES), np.zeros(_LANES, np.int64)
    num_pairs, num_rows = np.zeros(_LANES, int), _LANES
    num_skipped, steps = 0, []
    while (active := np.flatnonzero(sentences < ends)).size:
        # One chunk for each active lane; arrays are (num_active,).
        free = sequence_length - columns[active] - num_special
        starts = sentences[active]
        targets = np.minimum(cutter.targets[starts], free)
        pairs, is_kept, sentences[active] = cutter.pairs_at(starts, targets, 2)
        num_skipped += int(np.count_nonzero(~is_kept))
        pairs = truncate_pairs(pairs, free, cutter.draws, starts).take(is_kept)
        lanes = active[is_kept]
        steps.append(pairs._replace(row=rows[lanes], column=columns[lanes]))
        columns[lanes] += pairs.lengths + num_special
        num_pairs[lanes] += 1
        is_full = sequence_length - columns < least_free
        full = np.flatnonzero(is_full | (num_pairs == max_pairs(sequence_length)))
        rows[full] = num_rows + np.arange(len(full))
        columns[full] = num_pairs[full] = 0
        num_rows += len(full)
    pairs = SentencePairs(*map(np.concatenate, zip(*steps, strict=True)))
    pairs = pairs.take(np.lexsort((pairs.column, pairs.row)))
    # A row is empty if a lane began it after its last pair.
    _, rows = np.unique(pairs.row, return_inverse=True)
    return pairs._replace(row=rows), num_skipped


def pack_pairs(pairs, num_rows, marked_ids, sequence_length, encoder):
    """Packs pairs as `[CLS] first [SEP] second [SEP]`, or `[CLS] first [SEP]`.

    Args:
        pairs: `SentencePairs` of `marked_ids` that fit into their rows. An empty second
            segment has no separator.
        num_rows: int.
        marked_ids: int `(num_tokens,)`.
        sequence_length: int. Length of a row in tokens.
        encoder: Has the ids of special tokens.

    Returns:
        Dict of arrays `(num_rows, sequence_length)`: int32 `token_ids`, `segment_ids`
        (1 after a pair's first separator), `sequence_ids` (1, 2, ... for the pairs of a
        row, 0 for padding), and bool `word_starts`, true for special tokens.

    Reference: google-research/albert `create_instances_from_document`.
    """
    offsets, arrays = pack_segments(
        [
            Segments(marked_ids, pairs.first_start, pairs.first_length),
            Segments(marked_ids, pairs.second_start, pairs.second_length),
        ],
        # Special tokens are marked as word starts.
        2 * encoder.cls_token_id + 1,
        2 * encoder.sep_token_id + 1,
        keep_empty=False,
    )
    totals = np.diff(offsets)  # (num_pairs,) tokens, including special ones
    # (num_tokens,) positions in the flattened rows
    targets = ragged_positions(pairs.row * sequence_length + pairs.column, totals)
    token_ids, word_starts = split_marks(arrays["token_ids"])
    sequence_ids = np.repeat((pairs.number_in_row + 1).astype(np.int32), totals)

    def put(values, padding=0):
        rows = np.full(num_rows * sequence_length, padding, values.dtype)
        rows[targets] = values
        return rows.reshape(num_rows, sequence_length)

    return {
        "token_ids": put(token_ids, encoder.pad_token_id),
        "segment_ids": put(arrays["segment_ids"]),
        "sequence_ids": put(sequence_ids),
        "word_starts": put(word_starts),
    }
