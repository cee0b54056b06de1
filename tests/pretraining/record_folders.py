"""Record files of random numbers, and their reader, for tests without real text."""

import itertools

import numpy as np

from albert_keras.pretraining.records import (
    FEATURES,
    FILLED_FEATURES,
    parse_batch,
    read_sizes,
    serialize_examples,
    shard_path,
    write_description,
    write_shard,
)
from albert_keras.pretraining.tfrecord import read_records


def make_arrays(num_examples, sizes, seed=0):
    """Returns examples of random numbers, numbered by their first two token ids."""
    random = np.random.default_rng(seed)
    features = FEATURES | (FILLED_FEATURES if sizes.max_pairs else {})
    largest = {
        "token_ids": 30_000,
        "mask_ids": 30_000,
        "mask_positions": sizes.sequence_length,
        "pair_positions": sizes.sequence_length,
    }
    arrays = {}
    for name, feature in features.items():
        width = getattr(sizes, feature.width)
        shape = (num_examples, width) if width else (num_examples,)
        values = random.integers(0, largest.get(name, 2), shape)
        arrays[name] = values.astype(feature.dtype)
    arrays["token_ids"][:, :2] = np.stack(divmod(np.arange(num_examples), 997), axis=1)
    return arrays


def read_examples(path):
    """Returns the examples of a record file, dicts of arrays."""
    records = list(read_records(path))
    if not records:
        return []
    batch = parse_batch(records, read_sizes(path))
    rows = zip(*batch.values(), strict=True)
    return [dict(zip(batch, row, strict=True)) for row in rows]


def write_file(path, arrays):
    """Writes examples to one TFRecord file; returns its index."""
    return write_shard(path, serialize_examples(arrays))


def write_folder(folder, arrays, sizes, bounds, **description):
    """Writes examples between consecutive bounds to shards, and their description.

    Returns:
        List of the shards' paths.
    """
    num_shards = len(bounds) - 1
    paths = [shard_path(folder, index, num_shards) for index in range(num_shards)]
    shards = {}
    for path, (begin, end) in zip(paths, itertools.pairwise(bounds), strict=True):
        part = {name: values[begin:end] for name, values in arrays.items()}
        shards[path.name] = write_file(path, part)
    description = {"sentence_pairs": "sop", **sizes._asdict(), **description}
    write_description(folder, {**description, "shards": shards})
    return paths
