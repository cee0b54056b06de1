"""Protocol buffer bytes of many messages at once.

A column of a batch of messages is a matrix of bytes, one row a message, with a mask of
those that count, because numbers take fewer bytes the smaller they are. A message is a
list of columns and wraps another one by putting two columns before it; the bytes are
brought together once, at the end.

Reference: https://protobuf.dev/programming-guides/encoding/.
"""

from typing import NamedTuple

import numpy as np

_LENGTH_DELIMITED = 2


class Messages(NamedTuple):
    """A batch of messages, or of parts of messages.

    Attributes:
        columns: list of pairs of `(batch, width)` matrices: bytes (uint8), and whether
            each counts (bool).
        lengths: int64, `(batch,)`. How many bytes count.
    """

    columns: list
    lengths: np.ndarray

    def to_bytes(self):
        """Returns one message after the other, and where each ends, int64 `(batch,)`."""
        content, is_used = (
            np.concatenate(matrices, axis=1).ravel()
            for matrices in zip(*self.columns, strict=True)
        )
        return np.compress(is_used, content).tobytes(), np.cumsum(self.lengths)


def text(value, batch_size):
    """Returns the same ASCII str in every message."""
    content = np.frombuffer(value.encode("ascii"), np.uint8)
    return _all_used(np.broadcast_to(content, (batch_size, len(content))))


def floats(values):
    """Returns numbers `(batch, width)` as four bytes each."""
    return _all_used(np.ascontiguousarray(values, "<f4").view(np.uint8))


def varints(values):
    """Returns numbers `(batch, width)`, 0 or more, as seven bits a byte.

    The eighth bit of a byte says that another follows.
    """
    num_bytes = max(1, -(-int(values.max(initial=0)).bit_length() // 7))
    if num_bytes == 1:
        return _all_used(values.astype(np.uint8))
    shape = (*values.shape, num_bytes)
    content, is_used = np.empty(shape, np.uint8), np.empty(shape, bool)
    is_needed = True
    for index in range(num_bytes):
        is_used[..., index] = is_needed
        is_needed = values > 0x7F
        byte = values.astype(np.uint8) & 0x7F
        content[..., index] = byte | is_needed.view(np.uint8) << 7
        values = values >> 7
    content, is_used = (m.reshape(shape[0], -1) for m in (content, is_used))
    return Messages([(content, is_used)], is_used.sum(axis=1))


def delimited(field, *messages):
    """Returns a field that holds the given messages one after the other.

    Args:
        field: int in [1, 15]. Number of the field.
        messages: `Messages` of one batch size.
    """
    lengths = sum(part.lengths for part in messages)
    tag = np.full((len(lengths), 1), field << 3 | _LENGTH_DELIMITED, np.uint8)
    prefix = (_all_used(tag), varints(lengths[:, None]))
    columns = [column for part in (*prefix, *messages) for column in part.columns]
    return Messages(columns, lengths + sum(part.lengths for part in prefix))


def _all_used(content):
    is_used = np.broadcast_to(True, content.shape)
    return Messages([(content, is_used)], np.full(len(content), content.shape[1]))
