"""Record files of random numbers, and their reader, for tests without real text."""

import dataclasses
import itertools

import numpy as np

from albert_keras.pretraining.examples import PretrainingDataConfig
from albert_keras.pretraining.records import RecordStream, shard_path, write_records
from albert_keras.pretraining.token_store import write_description

LENGTH, PREDICTIONS = 61, 9


def make_arrays(num_examples, max_pairs=0, seed=0):
    """Returns examples of random numbers, numbered by their first two token ids.

    With `max_pairs` they are rows filled with several pairs.
    """
    random = np.random.default_rng(seed)

    def draw(limit, *shape):
        return random.integers(0, limit, (num_examples, *shape)).astype(np.int32)

    pairs = (max_pairs,) if max_pairs else ()
    arrays = {
        "token_ids": draw(30_000, LENGTH),
        "padding_mask": draw(2, LENGTH),
        "segment_ids": draw(2, LENGTH),
        "word_starts": draw(2, LENGTH),
        "mask_positions": draw(LENGTH, PREDICTIONS),
        "mask_ids": draw(30_000, PREDICTIONS),
        "mask_weights": draw(2, PREDICTIONS).astype(np.float32),
        "sop_label": draw(2, *pairs),
    }
    if max_pairs:
        arrays["sequence_ids"] = draw(9, LENGTH)
        arrays["pair_positions"] = draw(LENGTH, max_pairs)
        arrays["sop_weight"] = draw(2, max_pairs).astype(np.float32)
    arrays["token_ids"][:, :2] = np.stack(divmod(np.arange(num_examples), 997), axis=1)
    return arrays


def read_examples(path):
    """Returns the examples of a record file, dicts of arrays."""
    if not path.stat().st_size:
        return []
    stream = RecordStream([path])
    (batch,) = stream.batches(10**6, stop=stream.count_examples())
    return rows_of(batch)


def rows_of(arrays):
    """Returns a dict of arrays as a list of dicts, one a row."""
    rows = zip(*arrays.values(), strict=True)
    return [dict(zip(arrays, row, strict=True)) for row in rows]


def write_folder(folder, arrays, bounds, sentence_pairs="sop"):
    """Writes examples between consecutive bounds to shards, and their description.

    Returns:
        List of the shards' paths.
    """
    num_shards = len(bounds) - 1
    paths = [shard_path(folder, index, num_shards) for index in range(num_shards)]
    for path, (begin, end) in zip(paths, itertools.pairwise(bounds), strict=True):
        write_records(
            path, [{name: values[begin:end] for name, values in arrays.items()}]
        )
    config = PretrainingDataConfig(
        sequence_length=LENGTH, sentence_pairs=sentence_pairs
    )
    shards = {path.name: {"bytes": path.stat().st_size} for path in paths}
    description = {"config": dataclasses.asdict(config), "shards": shards}
    write_description(folder, description)
    return paths
