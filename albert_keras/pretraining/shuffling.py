"""Shuffling more items than memory holds: an external sort by random keys.

Each item, such as a record, is bytes and carries a 64-bit key. Workers write *runs*:
files of items sorted by key. Merging reads from every run the items of one narrow range
of keys after the other. If the keys are random, the outcome is one random permutation
of all items. It depends on keys and items alone: neither on how many workers wrote how
many runs, nor on the order of these.

A run is a file of: the items, one after the other; the index, with the key of each item
and where it begins, and a last row for where the last item ends; the size of all items
and their number; a checksum from the index on.
"""

import itertools
import os
import struct
from typing import NamedTuple

import google_crc32c
import numpy as np

from albert_keras.files import atomic_path

_ROW = np.dtype([("key", np.uint64), ("begin", np.int64)])
_COUNTS, _CHECKSUM = struct.Struct("<QQ"), struct.Struct("<I4s")
_MAGIC = b"run1"

# The smallest piece to merge at a time, and the smallest read from one run on average.
_MIN_PIECE, _MIN_READ = 2**23, 2**12

# Where pieces may end: even a shard of a terabyte is cut to 64 MB.
_NUM_BINS = 2**14


def join_items(parts):
    """Joins items to be sorted together.

    Args:
        parts: list of `(keys, blob, ends)`, as for `write_run`; not empty.

    Returns:
        Tuple of the same form.
    """
    keys, blobs, ends = zip(*parts, strict=True)
    begins = np.cumsum([0, *map(len, blobs[:-1])])
    ends = [begin + part for begin, part in zip(begins, ends, strict=True)]
    return np.concatenate(keys), b"".join(blobs), np.concatenate(ends)


def write_run(path, keys, blob, ends):
    """Sorts items and writes them to one file, whole or not at all.

    Args:
        path: str or path. Where the file shall stand.
        keys: uint64, `(num_items,)`.
        blob: bytes, or a uint8 array. One item after the other.
        ends: int64, `(num_items,)`. Where each ends in `blob`.
    """
    keys, blob, ends = _sort(keys, _cut(blob, np.append(0, ends)))
    index = np.zeros(len(keys) + 1, _ROW)
    index["key"][:-1], index["begin"][1:] = keys, ends
    footer = index.tobytes() + _COUNTS.pack(len(blob), len(keys))
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        file.write(blob)
        file.write(footer)
        file.write(_CHECKSUM.pack(google_crc32c.value(footer), _MAGIC))


def merge_runs(paths, shard, num_shards, budget_bytes):
    """Merges one of `num_shards` equal ranges of the keys from many runs.

    The shards one after the other hold all items in the order of their keys, and equal
    keys in the order of the items' bytes.

    Memory holds three pieces at most: one as it was read, the same sorted, and the one
    before it. One file is open at a time.

    Args:
        paths: list of str or path. Written by `write_run`.
        shard: int in [0, `num_shards`).
        num_shards: int >= 1.
        budget_bytes: int. Size of the items merged at a time, about; 8 MiB at least,
            and 4 KiB a run.

    Yields:
        Pieces in order, none empty, each a tuple of keys, uint64 `(num_items,)`, the
        items as one bytes, and where each ends, int64 `(num_items,)`.

    Raises:
        ValueError: If a run is truncated or corrupt.
    """
    if not paths:
        return
    runs = [_open_run(path) for path in paths]
    low, high = (-(-(number << 64) // num_shards) for number in (shard, shard + 1))
    budget_bytes = max(budget_bytes, _MIN_PIECE, _MIN_READ * len(runs))
    edges = _cut_range(runs, low, high, budget_bytes)
    places = np.stack([_places(run.read_index(), edges) for run in runs], axis=1)
    for begins, ends in itertools.pairwise(places.tolist()):
        slices = [
            run.read(*part) for run, *part in zip(runs, begins, ends, strict=True)
        ]
        keys = np.concatenate([keys for keys, _ in slices])
        if len(keys):
            yield _sort(keys, [item for _, items in slices for item in items])


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
    """Returns how many items have a key below each of the ascending edges."""
    keys = index["key"][:-1]
    # The last edge may be 2^64, which is no key.
    *edges, last = edges
    places = np.searchsorted(keys, np.array(edges, np.uint64))
    return np.append(places, np.searchsorted(keys, np.uint64(last - 1), "right"))


class _Run(NamedTuple):
    """A run file, open only while something is read.

    Attributes:
        path: str.
        size: int. Bytes of all items.
        num_items: int.
    """

    path: str
    size: int
    num_items: int

    def read_index(self):
        with open(self.path, "rb") as file:
            return self._read_rows(file, 0, self.num_items)

    def read(self, begin, end):
        """Returns the keys and items from number `begin` to before number `end`."""
        with open(self.path, "rb") as file:
            rows = self._read_rows(file, begin, end)
            bounds = rows["begin"]
            first, last = int(bounds[0]), int(bounds[-1])
            file.seek(first)
            return rows["key"][:-1], _cut(file.read(last - first), bounds - first)

    def _read_rows(self, file, begin, end):
        """Returns rows of the index, that of number `end` among them."""
        file.seek(self.size + _ROW.itemsize * begin)
        return np.frombuffer(file.read(_ROW.itemsize * (end + 1 - begin)), _ROW)


def _open_run(path):
    """Returns a `_Run` whose index is as it was written."""
    file_size, tail_size = os.path.getsize(path), _COUNTS.size + _CHECKSUM.size
    if file_size < tail_size:
        raise _broken(path)
    with open(path, "rb") as file:
        file.seek(-tail_size, os.SEEK_END)
        counts = file.read(_COUNTS.size)
        checksum, magic = _CHECKSUM.unpack(file.read())
    run = _Run(os.fspath(path), *_COUNTS.unpack(counts))
    index_size = _ROW.itemsize * (run.num_items + 1)
    if magic != _MAGIC or file_size != run.size + index_size + tail_size:
        raise _broken(path)
    if google_crc32c.value(run.read_index().tobytes() + counts) != checksum:
        raise _broken(path)
    return run


def _cut(blob, bounds):
    """Returns the items between bounds of a blob, without copying them."""
    view = memoryview(blob)
    return [view[begin:end] for begin, end in itertools.pairwise(bounds.tolist())]


def _sort(keys, items):
    """Returns keys, blob and ends of items in the order of keys, then of bytes."""
    order = np.argsort(keys)
    if np.any(np.diff(keys[order]) == 0):
        by_bytes = sorted(range(len(items)), key=lambda index: bytes(items[index]))
        order = np.array(by_bytes)[np.argsort(keys[by_bytes], kind="stable")]
    # Joined rather than gathered by an array of indices, which takes ten times as long.
    items = [items[index] for index in order.tolist()]
    ends = np.cumsum(np.fromiter(map(len, items), np.int64, len(items)))
    return keys[order], b"".join(items), ends


def _broken(path):
    return ValueError(
        f"A run file must be whole. Received: '{path}', truncated or corrupt. Delete "
        "the unfinished work that it is part of, and begin anew."
    )
