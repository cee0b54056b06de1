"""External sort by random keys, to shuffle more items than fit in memory.

An item, such as a record, is bytes with a 64-bit key. Workers write sorted run files;
merging reads one narrow range of keys after the other from all of them. With random keys
the result is a random permutation of all items. It depends on keys and items alone, not
on the number of workers or run files.

A run file holds the items, end to end; the index, a row of key and begin for each item
and a last row for the end of the last item; the size of all items and their number; a
checksum of the index and these two numbers; and a magic number.
"""

import itertools
import os
import struct
from typing import NamedTuple

import google_crc32c
import numpy as np

from albert_keras.files import atomic_path

_ROW = np.dtype([("key", np.uint64), ("begin", np.int64)])
_COUNTS, _TAIL = struct.Struct("<QQ"), struct.Struct("<QQI4s")
_MAGIC = b"run1"

# The smallest piece to merge at a time, and the smallest mean read from one run file.
_MIN_PIECE, _MIN_READ = 2**23, 2**12

# Places where a piece can end: even a shard of a terabyte is cut to 64 MB.
_NUM_BINS = 2**14


def join_items(parts):
    """Concatenates a list of `(keys, blob, ends)` to one tuple of the same form."""
    keys, blobs, ends = zip(*parts, strict=True)
    begins = np.cumsum([0, *map(len, blobs[:-1])])
    ends = [begin + part for begin, part in zip(begins, ends, strict=True)]
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
    counts = len(blob), len(keys)
    tail = _TAIL.pack(*counts, _checksum(index, *counts), _MAGIC)
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
        budget_bytes: int. Approximate size of a piece; at least 8 MiB and 4 KiB a run.

    Yields:
        Sorted pieces, none empty: tuples of keys, uint64 `(num_items,)`, the items as
        bytes, and the end of each, int64 `(num_items,)`.

    Raises:
        ValueError: If a run file is truncated or corrupt.
    """
    if not paths:
        return
    runs = [_open_run(path) for path in paths]
    low, high = (-(-(number << 64) // num_shards) for number in (shard, shard + 1))
    budget_bytes = max(budget_bytes, _MIN_PIECE, _MIN_READ * len(runs))
    edges = _cut_range(runs, low, high, budget_bytes)
    # (num_edges, num_runs)
    places = np.stack([_places(run.read_index(), edges) for run in runs], axis=1)
    for begins, ends in itertools.pairwise(places.tolist()):
        parts = [
            run.read(*bounds) for run, *bounds in zip(runs, begins, ends, strict=True)
        ]
        keys = np.concatenate([keys for keys, _ in parts])
        if len(keys):
            yield _sort(keys, [item for _, items in parts for item in items])


def _cut_range(runs, low, high, budget_bytes):
    """Returns keys from `low` to `high` with about `budget_bytes` of items between."""
    width = -(-(high - low) // _NUM_BINS)
    sizes = np.zeros(_NUM_BINS)
    for run in runs:
        index = run.read_index()
        begin, end = _places(index, [low, high])
        bins = (index["key"][begin:end] - np.uint64(low)) // np.uint64(width)
        lengths = np.diff(index["begin"][begin : end + 1])
        sizes += np.bincount(bins.astype(np.intp), lengths, _NUM_BINS)
    pieces = np.cumsum(sizes) // budget_bytes
    inner = 1 + np.flatnonzero(np.diff(pieces))
    return [low, *(low + edge * width for edge in inner.tolist()), high]


def _places(index, edges):
    """Returns the number of keys below each of the ascending edges, `(num_edges,)`."""
    keys = index["key"][:-1]
    # The last edge may be 2^64, which is not a uint64.
    *edges, last = edges
    places = np.searchsorted(keys, np.array(edges, np.uint64))
    return np.append(places, np.searchsorted(keys, np.uint64(last - 1), "right"))


class _Run(NamedTuple):
    """A run file of `num_items` items, `size` bytes together; open only while read."""

    path: str
    size: int
    num_items: int

    def read_index(self, begin=0, end=None):
        """Returns the rows of items `begin` to `end` (exclusive), and one row more."""
        end = self.num_items if end is None else end
        offset = self.size + _ROW.itemsize * begin
        return np.fromfile(self.path, _ROW, end + 1 - begin, offset=offset)

    def read(self, begin, end):
        """Returns the keys and the items `begin` to `end` (exclusive)."""
        index = self.read_index(begin, end)
        bounds = index["begin"] - index["begin"][0]
        blob = np.fromfile(
            self.path, np.uint8, bounds[-1], offset=int(index["begin"][0])
        )
        return index["key"][:-1], _split(blob, bounds)


def _open_run(path):
    """Returns a `_Run` after checking its index."""
    index_end = os.path.getsize(path) - _TAIL.size
    if index_end >= 0:
        with open(path, "rb") as file:
            file.seek(index_end)
            size, num_items, checksum, magic = _TAIL.unpack(file.read())
        run = _Run(os.fspath(path), size, num_items)
        is_sized = index_end == size + _ROW.itemsize * (num_items + 1)
        if magic == _MAGIC and is_sized:
            if checksum == _checksum(run.read_index(), size, num_items):
                return run
    raise ValueError(
        f"A run file must be whole. Received: '{path}', truncated or corrupt. Delete "
        "the unfinished work that it is part of, and prepare the data again."
    )


def _checksum(index, *counts):
    return google_crc32c.value(index.tobytes() + _COUNTS.pack(*counts))


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
    ends = np.cumsum(np.fromiter(map(len, items), np.int64, len(items)))
    return keys[order], b"".join(items), ends
