"""Packing of texts and pairs of texts as examples; long texts in windows."""

import numpy as np

from albert_keras.text.examples import Examples
from albert_keras.tokenizers import packing
from albert_keras.tokenizers.ragged import offsets_of, ragged_positions

# The part of a long text that is kept.
TRUNCATIONS = ("head", "tail", "head_tail")

# Share of the beginning that `head_tail` keeps: 128 of 510 tokens in the paper.
_HEAD_SHARE = 128 / 510


def pack_texts(encoder, first, second=None, *, sequence_length, truncation="head"):
    """Tokenizes and packs texts as `[CLS] first [SEP]`, or with `second [SEP]`.

    Args:
        encoder: The `encoder` of a tokenizer of this package.
        first: list of str.
        second: list of str of the same length, or None. Default None.
        sequence_length: int. Maximum length of a sequence, special tokens included.
        truncation: str, one of `TRUNCATIONS`. Part of a long text that is kept: the
            beginning, the end, or a quarter from the beginning and the rest from the end
            (Sun et al. 2019, section 5.3.1). Pairs always keep their beginnings.

    Returns:
        `Examples` with int32 `token_ids` and `segment_ids` (1 from `second` on).

    Reference: google-research/albert classifier_utils.py `convert_single_example`.
    """
    texts = [first] if second is None else [first, second]
    room = packing.room_in(sequence_length, len(texts))
    segments = [packing.whole_texts(*encoder.encode_ragged(column)) for column in texts]
    if truncation == "head" or len(texts) == 2:
        segments = packing.truncate(segments, sequence_length)
    else:
        segments = [_keep_tail(*segments, room, truncation)]
    return pack_rows(encoder, segments)


def numbers_of(columns):
    """Numbers the different texts of columns, int32 `(num_rows, num_columns)`."""
    numbers = {}
    rows = zip(*columns, strict=True)
    rows = [[numbers.setdefault(text, len(numbers)) for text in row] for row in rows]
    return np.array(rows, np.int32)


def split_texts(encoder, texts, *, sequence_length):
    """Tokenizes texts and cuts long ones into windows, each `[CLS] window [SEP]`.

    The windows of a text do not overlap, and their lengths differ by one token at most.

    Returns:
        Tuple of `Examples`, one per window, and int64 `(num_windows,)`, the row of each
        window's text.
    """
    room = packing.room_in(sequence_length, 1)
    token_ids, offsets = encoder.encode_ragged(texts)
    # (num_texts,)
    lengths = np.diff(offsets)
    num_windows = np.maximum(1, -(-lengths // room))
    # (num_windows,)
    text_of = np.repeat(np.arange(len(texts)), num_windows)
    number = ragged_positions(np.zeros_like(num_windows), num_windows)
    # Window i of n ends at i / n of the text's tokens.
    ends = offsets[text_of] + (number + 1) * lengths[text_of] // num_windows[text_of]
    windows = packing.whole_texts(token_ids, np.concatenate([[0], ends]))
    return pack_rows(encoder, [windows]), text_of


def pack_rows(encoder, segments, **fields):
    """Returns `Examples` of one or two `Segments` of each row, with special tokens.

    `fields` are other arguments of `Examples`.
    """
    special = encoder.cls_token_id, encoder.sep_token_id
    return Examples(*packing.pack_segments(segments, *special), **fields)


def _keep_tail(segment, room, truncation):
    """Keeps the end of long texts, and for `head_tail` some tokens of the beginning."""
    token_ids, starts, lengths = segment
    share = _HEAD_SHARE if truncation == "head_tail" else 0.0
    num_head = np.where(lengths > room, round(share * room), lengths)
    num_tail = np.where(lengths > room, room - num_head, 0)
    # (num_texts, 2): the head and the tail of each text.
    part_starts = np.stack([starts, starts + lengths - num_tail], axis=1)
    parts = np.stack([num_head, num_tail], axis=1)
    kept = token_ids[ragged_positions(part_starts.ravel(), parts.ravel())]
    return packing.whole_texts(kept, offsets_of(parts.sum(axis=1)))
