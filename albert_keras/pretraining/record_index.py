"""What training must know of record files before it reads them: where runs begin."""

from typing import NamedTuple

import numpy as np

from albert_keras.pretraining.records import Sizes, read_description, read_examples
from albert_keras.pretraining.tfrecord import RUN_RECORDS, index_records


class RecordIndex(NamedTuple):
    """The runs of up to 4,096 records that files consist of, in the order of the files.

    Attributes:
        paths: list of str, `(num_runs,)`. The file of each run.
        offsets: int64, `(num_runs,)`. Byte at which it begins.
        counts: int64, `(num_runs,)`. Records in it.
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

    A file that `dataset.json` beside it describes is not read for this. Of another one
    the framing is read, and the first record.

    Args:
        paths: list of paths.
        sequence_length: int, or None for that of the records.
        max_predictions: int, or None for that of the records.

    Returns:
        `RecordIndex`.

    Raises:
        ValueError: If a file is truncated, not as described, or of other sizes than
            asked for or than the file before; or if there is no record in any.
    """
    descriptions = {path.parent: read_description(path.parent) or {} for path in paths}
    sizes = Sizes(sequence_length, max_predictions, None)
    names, offsets, counts = [], [], []
    for path in paths:
        description = descriptions[path.parent]
        shard = description.get("shards", {}).get(path.name)
        if shard is None:
            shard = index_records(path)
            found = _sizes_of_first(path)
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


def _sizes_of_first(path):
    """Returns the sizes of the first record of a file; None if that is empty."""
    for example in read_examples(path):
        names = ("token_ids", "mask_positions", "pair_positions")
        return Sizes(*(len(example.get(name, ())) for name in names))


def _check_size(path, num_bytes):
    found = path.stat().st_size
    if found != num_bytes:
        raise ValueError(
            "A record file must be as `dataset.json` beside it says. "
            f"Received: '{path}' of {found} bytes instead of {num_bytes}. Copy it "
            "again, or make the data anew."
        )


def _agreed_sizes(requested, found, path):
    """Returns the sizes of a file, which must be those requested, if any are."""
    for name, wanted, size in zip(Sizes._fields, requested, found, strict=True):
        if wanted not in (None, size):
            raise ValueError(
                f"`{name}` must be that of the records. Received: {name}={wanted}, but "
                f"'{path}' has {size}."
            )
    return found
