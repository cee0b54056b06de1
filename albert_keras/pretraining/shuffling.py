"""External sort by random keys, to shuffle more items than fit in memory.

An item, such as a record, is bytes with a random 64-bit key. Workers write sorted run
files; merging reads one narrow range of keys after the other from all of them. The order
depends on keys and items alone, not on the number of workers or run files.

A run file holds the items, end to end; the index, a row of key and begin for each item
and a last row for the end of the last item; the number of items; and the index' checksum.
"""

import bisect
import itertools
import os
import struct
from typing import NamedTuple

import google_crc32c
import numpy as np

from albert_keras.files import atomic_path
from albert_keras.tokenizers.ragged import offsets_of

_ROW = np.dtype([("key", np.uint64), ("begin", np.int64)])
_TAIL = struct.Struct("<QI")

# The smallest piece to merge at a time, and the smallest mean read from one run file.
_MIN_PIECE, _MIN_READ = 2**23, 2**12


def join_items(parts):
    """Concatenates a list of `(keys, blob, ends)` to one tuple of the same form."""
    keys, blobs, ends = zip(*parts, strict=True)
    begins = offsets_of([len(blob) for blob in blobs])
    ends = [begin + part for begin, part in zip(begins, ends, strict=False)]
    return np.concatenate(keys), b"".join(blobs), np.concatenate(ends)


def write_run(path, keys, blob, ends):
    """Sorts items and writes them to one run file, whole or not at all.

    Args:
        path: str or path.
        keys: uint64 `(num_items,)`.
        blob: bytes, or a uint8 array. One item after the other.
        ends: int64 `(num_items,)`. The end of each item in `blob`.
    """
    keys, blob, ends = _sort(keys, _split(blob, np.append(0, ends)))
    index = np.zeros(len(keys) + 1, _ROW)
    index["key"][:-1], index["begin"][1:] = keys, ends
    tail = _TAIL.pack(len(keys), google_crc32c.value(index.tobytes()))
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        file.write(blob)
        file.write(index.tobytes() + tail)


def merge_runs(paths, shard, num_shards, budget_bytes):
    """Merges one of `num_shards` equal ranges of the keys from many run files.

    All shards, one after the other, hold all items in the order of their keys; items
    with equal keys are in the order of their bytes. Memory holds at most three pieces:
    one as read, the same sorted, and the one before. One file is open at a time.

    Args:
        paths: list of str or path. Written by `write_run`.
        shard: int in [0, `num_shards`).
        num_shards: int >= 1.
        budget_bytes: int. Mean size of a piece; at least 8 MiB and 4 KiB a run.

    Yields:
        Sorted pieces, none empty: tuples of keys, uint64 `(num_items,)`, the items as
        bytes, and the end of each, int64 `(num_items,)`.

    Raises:
        ValueError: If a run file is truncated or corrupt.
    """
    runs = [_open_run(path) for path in paths]
    budget_bytes = max(budget_bytes, _MIN_PIECE, _MIN_READ * len(runs))
    # The keys are random, so equal ranges of them have about equal numbers of bytes.
    num_pieces = 1 + sum(run.size for run in runs) // (num_shards * budget_bytes)
    num_ranges = num_shards * num_pieces
    edges = [
        -(-(number << 64) // num_ranges)
        for number in range(shard * num_pieces, (shard + 1) * num_pieces + 1)
    ]
    # (num_runs, num_pieces + 1)
    places = [run.find(edges) for run in runs]
    for piece in range(num_pieces):
        parts = [
            run.read(*place[piece : piece + 2])
            for run, place in zip(runs, places, strict=True)
        ]
        items = [item for _, items in parts for item in items]
        if items:
            yield _sort(np.concatenate([keys for keys, _ in parts]), items)


class _Run(NamedTuple):
    """A run file of `num_items` items, `size` bytes together; open only while read."""

    path: str
    size: int
    num_items: int

    def read_index(self, begin, end):
        """Returns the rows of items `begin` to `end` (inclusive)."""
        offset = self.size + _ROW.itemsize * begin
        return np.fromfile(self.path, _ROW, end + 1 - begin, offset=offset)

    def find(self, edges):
        """Returns the number of keys below each of the edges, which may be 2^64."""
        keys = self.read_index(0, self.num_items)["key"][:-1]
        # `np.searchsorted` cannot find 2^64 among uint64.
        return [bisect.bisect_left(keys, edge) for edge in edges]

    def read(self, begin, end):
        """Returns the keys and the items `begin` to `end` (exclusive)."""
        index = self.read_index(begin, end)
        first, last = index["begin"][[0, -1]].tolist()
        blob = np.fromfile(self.path, np.uint8, last - first, offset=first)
        return index["key"][:-1], _split(blob, index["begin"] - first)


def _open_run(path):
    """Returns a `_Run` after checking its index."""
    index_end = os.path.getsize(path) - _TAIL.size
    if index_end >= 0:
        with open(path, "rb") as file:
            file.seek(index_end)
            num_items, checksum = _TAIL.unpack(file.read())
        size = index_end - _ROW.itemsize * (num_items + 1)
        if size >= 0:
            run = _Run(os.fspath(path), size, num_items)
            index = run.read_index(0, num_items)
            is_sized = index["begin"][-1] == size
            if is_sized and checksum == google_crc32c.value(index.tobytes()):
                return run
    raise ValueError(
        f"A run file must be whole. Received: '{path}', truncated or corrupt. Delete "
        "the unfinished work that it is part of, and prepare the data again."
    )


def _split(blob, bounds):
    """Returns the items between bounds of a blob, without copying them."""
    view = memoryview(blob)
    return [view[begin:end] for begin, end in itertools.pairwise(bounds.tolist())]


def _sort(keys, items):
    """Returns keys, blob and ends of items in the order of keys, then of bytes."""
    order = np.argsort(keys)
    if np.any(np.diff(keys[order]) == 0):
        by_bytes = sorted(range(len(items)), key=lambda index: bytes(items[index]))
        order = np.array(by_bytes)[np.argsort(keys[by_bytes], kind="stable")]
    # Joining is ten times as fast as gathering bytes by an array of indices.
    items = [items[index] for index in order.tolist()]
    return keys[order], b"".join(items), offsets_of([len(item) for item in items])[1:]
