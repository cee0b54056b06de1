"""Packed token sequences of different lengths, and what belongs to them, in arrays."""

import dataclasses

import numpy as np

# What is kept of a text that is longer than its place.
TRUNCATIONS = ("head", "tail", "head_tail")

# Of a text cut by `head_tail` a quarter is its beginning: 128 of 510 tokens in the paper.
_HEAD_SHARE = 128 / 510


@dataclasses.dataclass(frozen=True)
class Examples:
    """Examples without padding: their tokens stand one after the other.

    Args:
        offsets: int64 `(num_sequences + 1,)`. Where each sequence begins, and the last
            one's end.
        token_arrays: Dict of arrays `(num_tokens, ...)`: `token_ids`, `segment_ids`, and
            what else a task has for each token.
        example_arrays: Dict of arrays `(num_examples, ...)`: labels, and what else a
            task has for each example.
        num_choices: int, or None. Sequences that make an example, one after the other;
            None means one, without an axis for it.
    """

    offsets: np.ndarray
    token_arrays: dict
    example_arrays: dict
    num_choices: int | None = None

    @property
    def num_examples(self):
        """Number of examples."""
        return (len(self.offsets) - 1) // (self.num_choices or 1)

    @property
    def lengths(self):
        """Tokens of each example, of its longest sequence; `(num_examples,)`."""
        return np.diff(self.offsets).reshape(-1, self.num_choices or 1).max(axis=1)

    def with_arrays(self, **arrays):
        """Returns the examples with more, or other, arrays `(num_examples, ...)`."""
        arrays = {**self.example_arrays, **arrays}
        return dataclasses.replace(self, example_arrays=arrays)

    def token_places(self, rows):
        """Returns where the tokens of examples stand in the arrays of tokens.

        In the order in which the real tokens of a batch do, row by row: what
        `padding_mask` picks of a padded batch belongs there.

        Args:
            rows: int array `(batch,)`; of examples without choices.
        """
        rows = np.asarray(rows)
        return ragged_places(
            self.offsets[rows], self.offsets[rows + 1] - self.offsets[rows]
        )

    def padded(self, rows, length):
        """Returns a batch of examples.

        Args:
            rows: int array `(batch,)`. Examples to take.
            length: int. Tokens to pad each sequence to.

        Returns:
            Dict of arrays: those of tokens `(batch, length, ...)`, with the axis
            `num_choices` after the batch where there are choices, padded with zeros;
            int32 `padding_mask`, 1 on real tokens; those of examples `(batch, ...)`.

        Raises:
            ValueError: If a sequence is longer than `length`.
        """
        sequences = np.asarray(rows)
        if self.num_choices:
            choices = np.arange(self.num_choices)
            sequences = sequences[:, np.newaxis] * self.num_choices + choices
        starts = self.offsets[sequences][..., np.newaxis]
        ends = self.offsets[sequences + 1][..., np.newaxis]
        if (ends - starts).max(initial=0) > length:
            raise ValueError(
                "`length` must hold the longest sequence of the batch. "
                f"Received: length={length}, longest={(ends - starts).max()}."
            )
        places = starts + np.arange(length)
        is_token = places < ends
        places = np.where(is_token, places, 0)
        batch = {"padding_mask": is_token.astype(np.int32)}
        for name, array in self.token_arrays.items():
            values = array[places]
            values[~is_token] = 0
            batch[name] = values
        for name, array in self.example_arrays.items():
            batch[name] = array[rows]
        return batch


def pack_texts(encoder, first, second=None, *, sequence_length, truncation="head"):
    """Tokenizes and packs texts as `[CLS] first [SEP]`, or with `second [SEP]`.

    A pair that is too long is cut from the longer side, as keras-hub's preprocessors
    and the original do.

    Args:
        encoder: The `encoder` of one of our tokenizers.
        first: list of str.
        second: list of str as long, or None.
        sequence_length: int. Most tokens of a sequence, special ones included.
        truncation: str, of `TRUNCATIONS`: what is kept of a text that is too long, its
            beginning, its end, or a quarter of it from the beginning and the rest from
            the end (Sun et al. 2019, section 5.3.1). Pairs keep beginnings.

    Returns:
        `Examples` with int32 `token_ids` and `segment_ids` (1 from `second` on).

    Raises:
        ValueError: If `truncation` is unknown, or not `"head"` for pairs, or nothing
            fits, or `first` and `second` differ in number.

    Reference: google-research/albert classifier_utils.py `convert_single_example`.
    """
    num_special = 2 if second is None else 3
    _check_packing(sequence_length, num_special, first, second, truncation)
    room = sequence_length - num_special
    texts = [encoder.encode_ragged(first)]
    if second is not None:
        texts.append(encoder.encode_ragged(second))
    lengths = kept_lengths([np.diff(offsets) for _, offsets in texts], room)
    pieces = [
        _cut(token_ids, offsets, length, truncation)
        for (token_ids, offsets), length in zip(texts, lengths, strict=True)
    ]
    return join_pieces(encoder, pieces)


def split_texts(encoder, texts, *, sequence_length):
    """Tokenizes texts and cuts long ones into windows, each `[CLS] window [SEP]`.

    Windows of a text do not overlap and are of equal length, but for a token.

    Args:
        encoder, sequence_length: As for `pack_texts`.
        texts: list of str.

    Returns:
        Tuple of `Examples`, a window each, and the text of each window, int64
        `(num_windows,)`.
    """
    _check_packing(sequence_length, 2, texts, None, "head")
    token_ids, offsets = encoder.encode_ragged(texts)
    lengths = np.diff(offsets)
    num_windows = np.maximum(1, -(-lengths // (sequence_length - 2)))
    text_of = np.repeat(np.arange(len(texts)), num_windows)
    number = ragged_places(np.zeros_like(num_windows), num_windows)
    # The i-th of n windows ends at token i / n of the text: windows are contiguous.
    ends = offsets[text_of] + (number + 1) * lengths[text_of] // num_windows[text_of]
    window_offsets = np.concatenate([np.zeros(1, np.int64), ends])
    return join_pieces(encoder, [(token_ids, window_offsets)]), text_of


def kept_lengths(lengths, room):
    """Returns how many tokens of each text, or of the two of each pair, fit in.

    Args:
        lengths: List of one or two int arrays `(num_rows,)`.
        room: int. Tokens of a row, without special ones.

    Returns:
        List of arrays as `lengths`.
    """
    if len(lengths) == 1:
        return [np.minimum(lengths[0], room)]
    first, second = lengths
    # The first one has the odd token.
    kept = np.minimum(first, np.maximum(room - second, (room + 1) // 2))
    return [kept, np.minimum(second, room - kept)]


def join_pieces(encoder, pieces):
    """Joins texts as `[CLS] first [SEP]`, or `[CLS] first [SEP] second [SEP]`.

    Args:
        encoder: Gives `cls_token_id` and `sep_token_id`.
        pieces: List of one or two tuples `(token_ids, offsets)`, as `encode_ragged`
            returns them.

    Returns:
        `Examples` with int32 `token_ids` and `segment_ids`.
    """
    lengths = np.stack([np.diff(offsets) for _, offsets in pieces])
    offsets = offsets_of(1 + (lengths + 1).sum(axis=0))
    token_ids = np.full(offsets[-1], encoder.sep_token_id, np.int32)
    segment_ids = np.zeros(offsets[-1], np.int32)
    token_ids[offsets[:-1]] = encoder.cls_token_id
    begins = offsets[:-1] + 1
    for segment, ((ids, _), length) in enumerate(zip(pieces, lengths, strict=True)):
        token_ids[ragged_places(begins, length)] = ids
        # With its separator.
        segment_ids[ragged_places(begins, length + 1)] = segment
        begins = begins + length + 1
    arrays = {"token_ids": token_ids, "segment_ids": segment_ids}
    return Examples(offsets, arrays, {})


def offsets_of(lengths):
    """Returns where runs that stand one after the other begin, and the last one's end.

    Example:

    >>> offsets_of([2, 3]).tolist()
    [0, 2, 5]
    """
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


def ragged_places(begins, lengths):
    """Returns the positions of runs of elements, one run after the other.

    Args:
        begins: int array `(num_runs,)`. First position of each.
        lengths: int array `(num_runs,)`.

    Example:

    >>> ragged_places(np.array([5, 9]), np.array([2, 3])).tolist()
    [5, 6, 9, 10, 11]
    """
    ends = np.cumsum(lengths)
    shifts = np.repeat(begins - (ends - lengths), lengths)
    return shifts + np.arange(len(shifts))


def _cut(token_ids, offsets, lengths, truncation):
    """Keeps some tokens of each text; returns them and their offsets."""
    begins, ends = offsets[:-1], offsets[1:]
    is_cut = lengths < ends - begins
    num_head = lengths
    if truncation == "tail":
        num_head = np.where(is_cut, 0, lengths)
    elif truncation == "head_tail":
        head = np.rint(_HEAD_SHARE * lengths).astype(np.int64)
        num_head = np.where(is_cut, head, lengths)
    num_tail = lengths - num_head
    # Runs in turn: the head of a text, its tail, the head of the next one.
    runs = np.stack([begins, ends - num_tail], axis=1).ravel()
    run_lengths = np.stack([num_head, num_tail], axis=1).ravel()
    kept = token_ids[ragged_places(runs, run_lengths)]
    return kept, offsets_of(lengths)


def _check_packing(sequence_length, num_special, first, second, truncation):
    if truncation not in TRUNCATIONS:
        raise ValueError(
            f"`truncation` must be one of {', '.join(TRUNCATIONS)}. "
            f"Received: truncation={truncation!r}."
        )
    if second is not None and len(first) != len(second):
        raise ValueError(
            "Each text must have its second one. "
            f"Received: {len(first)} first texts and {len(second)} second ones."
        )
    if second is not None and truncation != "head":
        raise ValueError(
            "Of pairs the beginnings are kept: `truncation` is for single texts. "
            f"Received: truncation={truncation!r}."
        )
    if sequence_length <= num_special:
        raise ValueError(
            "A sequence must have room for a token beside the special ones. "
            f"Received: sequence_length={sequence_length}, of which {num_special} are "
            "special."
        )
