"""Index of record files: sizes of their examples, and where runs of records begin."""

from typing import NamedTuple

import numpy as np

from albert_keras.pretraining.records import Sizes, read_description, read_sizes
from albert_keras.pretraining.tfrecord import RUN_RECORDS, index_records


class RecordIndex(NamedTuple):
    """Runs of up to 4,096 consecutive records, in the order of the files.

    Attributes:
        paths: list of str, `(num_runs,)`. File of each run.
        offsets: int64 `(num_runs,)`. First byte of each run.
        counts: int64 `(num_runs,)`. Number of records.
        sizes: `Sizes` of all records.
    """

    paths: list
    offsets: np.ndarray
    counts: np.ndarray
    sizes: Sizes

    @property
    def num_examples(self):
        """Number of records in all runs."""
        return int(self.counts.sum())


def index_files(paths, *, sequence_length=None, max_predictions=None):
    """Finds the runs of record files.

    Files that `dataset.json` describes are not read; of others, the framing and the
    first record are.

    Args:
        paths: list of paths.
        sequence_length, max_predictions: int, or None for those of the records.

    Returns:
        `RecordIndex`.

    Raises:
        ValueError: If a file is truncated, differs from its description, has examples
            of other sizes than given or than the other files, or no file has a record.
    """
    descriptions = {path.parent: read_description(path.parent) or {} for path in paths}
    sizes = Sizes(sequence_length, max_predictions, None)
    names, offsets, counts = [], [], []
    for path in paths:
        description = descriptions[path.parent]
        shard = description.get("shards", {}).get(path.name)
        if shard is None:
            shard = index_records(path)
            found = read_sizes(path)
        else:
            _check_size(path, shard["bytes"])
            found = Sizes(*(description.get(name, 0) for name in Sizes._fields))
        if shard["examples"]:
            sizes = _agreed_sizes(sizes, found, path)
            num_full, rest = divmod(shard["examples"], RUN_RECORDS)
            names += [str(path)] * len(shard["run_offsets"])
            offsets += shard["run_offsets"]
            counts += [RUN_RECORDS] * num_full + [rest] * (rest > 0)
    if not counts:
        received = ", ".join(f"'{path}'" for path in paths)
        raise ValueError(f"`source` must hold a record. Received: {received}, empty.")
    return RecordIndex(names, np.array(offsets), np.array(counts), sizes)


def _check_size(path, num_bytes):
    found = path.stat().st_size
    if found != num_bytes:
        raise ValueError(
            "A record file must have the size given in its `dataset.json`. "
            f"Received: '{path}' of {found} bytes instead of {num_bytes}. Copy it "
            "again, or prepare the data again."
        )


def _agreed_sizes(requested, found, path):
    """Returns the sizes of a file; raises if they differ from those requested."""
    for name, wanted, size in zip(Sizes._fields, requested, found, strict=True):
        if wanted not in (None, size):
            raise ValueError(
                f"`{name}` must be that of the records. Received: {name}={wanted}, but "
                f"'{path}' has {size}."
            )
    return found
