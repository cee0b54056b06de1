"""External sort by random keys, to shuffle more items than fit in memory.

An item, such as a record, is bytes with a random 64-bit key. Workers write sorted run
files; merging reads one narrow range of keys after the other from all of them. The order
depends on keys and items alone, not on the number of workers or run files.

A run file holds the items, end to end; the index, a row of key and begin for each item
and a last row for the end of the last item; the number of items; and the index' checksum.
"""

import bisect
import itertools
import pathlib
import struct
from typing import NamedTuple

import google_crc32c
import numpy as np

from albert_keras.system.files import atomic_path
from albert_keras.system.storage import read_range, to_path

_ROW = np.dtype([("key", np.uint64), ("begin", np.int64)])
_TAIL = struct.Struct("<QI")

# The smallest piece to merge at a time, and the smallest mean read from one run file.
_MIN_PIECE, _MIN_READ = 2**23, 2**12


def split_items(blob, bounds):
    """Returns the items between the bounds, int `(num_items + 1,)`, of a blob."""
    return [blob[begin:end] for begin, end in itertools.pairwise(bounds.tolist())]


def write_run(path, keys, items):
    """Sorts a list of bytes by keys, uint64, and writes it to one file atomically."""
    order = _order(keys, items)
    items = [items[number] for number in order]
    index = np.zeros(len(keys) + 1, _ROW)
    index["key"][:-1] = keys[order]
    index["begin"][1:] = np.cumsum(list(map(len, items)))
    tail = _TAIL.pack(len(keys), google_crc32c.value(index.tobytes()))
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        file.writelines(items)
        file.write(index.tobytes() + tail)


def merge_runs(paths, shard, num_shards, budget_bytes, *, low=0, high=1 << 64):
    """Merges one of `num_shards` equal ranges of the keys from many run files.

    All shards, one after the other, hold all items in the order of their keys; items
    with equal keys are in the order of their bytes. One piece is in memory, and one file
    open, at a time.

    Args:
        paths: list of str or path. Written by `write_run`.
        shard, num_shards: int. The number of the range, and of all ranges.
        budget_bytes: int. Mean size of a piece; at least 8 MiB and 4 KiB a run.
        low, high: int. Only items with keys from `low` to below `high`.

    Raises:
        ValueError: If a run file is truncated or corrupt.
    """
    runs = [_open_run(path) for path in paths]
    budget_bytes = max(budget_bytes, _MIN_PIECE, _MIN_READ * len(runs))
    # The keys are random, so equal ranges of them have about equal numbers of bytes.
    num_pieces = 1 + sum(run.size for run in runs) // (num_shards * budget_bytes)
    num_ranges = num_shards * num_pieces
    edges = [
        min(max(low, -(-(number << 64) // num_ranges)), high)
        for number in range(shard * num_pieces, (shard + 1) * num_pieces + 1)
    ]
    # (num_runs, num_pieces + 1)
    places = [run.find(edges) for run in runs]
    for piece in range(num_pieces):
        keys, items = [np.empty(0, np.uint64)], []
        for run, place in zip(runs, places, strict=True):
            found = run.read(*place[piece : piece + 2])
            keys.append(found[0])
            items += found[1]
        for number in _order(np.concatenate(keys), items):
            yield items[number]


def key_of_rank(paths, rank):
    """Returns the key that as many items as the rank are before, in the merged order."""
    runs = [_open_run(path) for path in paths]
    keys = np.concatenate([run.keys() for run in runs])
    return int(np.partition(keys, rank)[rank])


class _Run(NamedTuple):
    """A run file of `num_items` items, `size` bytes together; open only while read."""

    path: pathlib.Path
    size: int
    num_items: int

    def read_index(self, begin, end):
        """Returns the rows of items `begin` to `end` (inclusive)."""
        offset = self.size + _ROW.itemsize * begin
        num_bytes = _ROW.itemsize * (end + 1 - begin)
        return np.frombuffer(read_range(self.path, offset, offset + num_bytes), _ROW)

    def keys(self):
        """Returns the keys of all items."""
        return self.read_index(0, self.num_items)["key"][:-1]

    def find(self, edges):
        """Returns the number of keys below each of the edges, which may be 2^64."""
        keys = self.keys()
        # `np.searchsorted` cannot find 2^64 among uint64.
        return [bisect.bisect_left(keys, edge) for edge in edges]

    def read(self, begin, end):
        """Returns the keys and the items `begin` to `end` (exclusive)."""
        index = self.read_index(begin, end)
        first, last = index["begin"][[0, -1]].tolist()
        blob = read_range(self.path, first, last)
        return index["key"][:-1], split_items(blob, index["begin"] - first)


def _open_run(path):
    """Returns a `_Run` after checking its index."""
    path = to_path(path)
    index_end = path.stat().st_size - _TAIL.size
    if index_end >= 0:
        tail = read_range(path, index_end, index_end + _TAIL.size)
        num_items, checksum = _TAIL.unpack(tail)
        size = index_end - _ROW.itemsize * (num_items + 1)
        if size >= 0:
            run = _Run(path, size, num_items)
            index = run.read_index(0, num_items)
            is_sized = index["begin"][-1] == size
            if is_sized and checksum == google_crc32c.value(index.tobytes()):
                return run
    raise ValueError(
        f"A run file must be whole. Received: '{path}', truncated or corrupt. Delete "
        "the unfinished work that it is part of, and prepare the data again."
    )


def _order(keys, items):
    """Returns the numbers of items in the order of keys, then of bytes."""
    order = np.argsort(keys)
    if np.any(np.diff(keys[order]) == 0):
        return sorted(order.tolist(), key=lambda number: (keys[number], items[number]))
    return order.tolist()
