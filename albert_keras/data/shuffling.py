"""Shuffling more examples than memory holds.

Each example carries one random 64-bit key. Its remainder by the number of shards names
the shard, and within the shard examples stand in the order of their keys. So the
outcome is one random permutation of all examples, cut into shards: it depends on the
keys alone, not on the order in which examples arrive, nor on how many workers made
them. In memory are the examples that just arrived and, while a shard is written, keys.
"""

import pathlib

import numpy as np


def example_dtype(arrays):
    """Returns the NumPy record type of one example of these arrays."""
    return np.dtype([(name, a.dtype, a.shape[1:]) for name, a in arrays.items()])


def scatter_examples(arrays, folder, num_shards):
    """Appends each example to the spool file of its shard.

    Args:
        arrays: dict of arrays with a leading `num_examples` axis, among them
            `shuffle_key` (uint64).
        folder: str or path of an existing folder.
        num_shards: int.
    """
    keys = arrays["shuffle_key"]
    table = np.empty(len(keys), example_dtype(arrays))
    for name, values in arrays.items():
        table[name] = values
    shard = keys % np.uint64(num_shards)
    for index in np.unique(shard).tolist():
        with open(_spool_path(folder, index), "ab") as spool:
            spool.write(table[shard == index].tobytes())


def gather_shard(folder, index, dtype):
    """Yields the examples of one shard in their final order.

    Args:
        folder: str or path, as given to `scatter_examples`.
        index: int. Number of the shard.
        dtype: NumPy record type of the examples, from `example_dtype`.
    """
    path = _spool_path(folder, index)
    if path.exists():
        table = np.memmap(path, dtype, mode="r")
        for position in np.argsort(table["shuffle_key"]):
            yield table[position]


def _spool_path(folder, index):
    return pathlib.Path(folder, f"{index:05}.examples")
