"""Sentence pairs to fixed-length model inputs."""

import numpy as np


def pack_pairs(pairs, *, sequence_length, cls_token_id, sep_token_id, pad_token_id):
    """Packs pairs as `[CLS] first [SEP] second [SEP]`, or `[CLS] first [SEP]`.

    All pairs are packed at once: their tokens are laid end to end and spread over the
    rows by one boolean mask.

    Args:
        pairs: list of `SentencePair`, or of any tuples that begin with two int arrays.
            An empty second array leaves out its separator too.
        sequence_length: int. Output length, in tokens.
        cls_token_id: int. Put first.
        sep_token_id: int. Put after each segment.
        pad_token_id: int. Fills the rest.

    Returns:
        Dict of int32 arrays, each `(len(pairs), sequence_length)`: `token_ids`,
        `segment_ids` (0 up to the first separator, 1 after it, 0 on padding) and
        `padding_mask` (1 = real).

    Raises:
        ValueError: If a pair does not fit. Truncation is the caller's decision.

    Example:

    >>> ids = dict(cls_token_id=2, sep_token_id=3, pad_token_id=0)
    >>> packed = pack_pairs([([7, 8], [9])], sequence_length=8, **ids)
    >>> packed["token_ids"].tolist(), packed["segment_ids"].tolist()
    ([[2, 7, 8, 3, 9, 3, 0, 0]], [[0, 0, 0, 0, 1, 1, 0, 0]])
    """
    cls, sep, nothing = [cls_token_id], [sep_token_id], []
    pieces, first_lengths, lengths = [], [], []
    for first, second, *_ in pairs:
        end = sep if len(second) else nothing
        pieces += (cls, first, sep, second, end)
        first_lengths.append(len(first) + 2)
        lengths.append(len(first) + 2 + len(second) + len(end))
    if max(lengths, default=0) > sequence_length:
        raise ValueError(
            "`sequence_length` must hold the longest pair with its special tokens. "
            f"Received: sequence_length={sequence_length}, longest={max(lengths)}."
        )
    columns = np.arange(sequence_length)
    is_real = columns < np.array(lengths, int).reshape(-1, 1)
    is_second = is_real & (columns >= np.array(first_lengths, int).reshape(-1, 1))
    token_ids = np.full(is_real.shape, pad_token_id, np.int32)
    if pieces:
        token_ids[is_real] = np.concatenate(pieces)
    return {
        "token_ids": token_ids,
        "segment_ids": is_second.astype(np.int32),
        "padding_mask": is_real.astype(np.int32),
    }
