"""Record files of examples, in the format of google-research/albert.

The files have the feature names of its `create_pretraining_data.py`, so both programs
read each other's files. Only reading imports TensorFlow.
"""

import pathlib
import re
from typing import NamedTuple

import numpy as np

from albert_keras.files import atomic_path, read_json, write_json
from albert_keras.pretraining.tfrecord import (
    RUN_RECORDS,
    frame_records,
    read_records,
    serialize_columns,
)


class Sizes(NamedTuple):
    """Widths of the features, the same in all records of a data set.

    Attributes:
        sequence_length: int. In tokens.
        max_predictions: int. Predictions in an example.
        max_pairs: int. Pairs in a filled row; 0 for examples of one pair.
    """

    sequence_length: int
    max_predictions: int
    max_pairs: int = 0


class _Feature(NamedTuple):
    """Name of a feature in the files, its width (a field of `Sizes`) and type."""

    name: str
    width: str
    dtype: type = np.int32


# From our names to the original's.
FEATURES = {
    "token_ids": _Feature("input_ids", "sequence_length"),
    "padding_mask": _Feature("input_mask", "sequence_length"),
    "segment_ids": _Feature("segment_ids", "sequence_length"),
    "word_starts": _Feature("token_boundary", "sequence_length"),
    "mask_positions": _Feature("masked_lm_positions", "max_predictions"),
    "mask_ids": _Feature("masked_lm_ids", "max_predictions"),
    "mask_weights": _Feature("masked_lm_weights", "max_predictions", np.float32),
    "sop_label": _Feature("next_sentence_labels", "max_pairs"),
}
# Further features of filled rows, which the original does not have.
FILLED_FEATURES = {
    "sequence_ids": _Feature("sequence_ids", "sequence_length"),
    "pair_positions": _Feature("pair_positions", "max_pairs"),
    "sop_weight": _Feature("next_sentence_weights", "max_pairs", np.float32),
}
_DESCRIPTION = "dataset.json"
_SHARD = re.compile(r"(?P<name>.*)-(?P<index>\d{5})-of-(?P<total>\d{5})\.tfrecord")


def serialize_examples(arrays):
    """Serializes examples as `tf.train.Example`s with the original's feature names.

    Args:
        arrays: dict from our feature names to arrays with a leading `num_examples`
            axis. Keys that are no feature are ignored.

    Returns:
        Tuple of the messages, one after the other as bytes, and the end of each, int64
        `(num_examples,)`.

    Raises:
        ValueError: If an integer is negative.
    """
    features = (FEATURES | FILLED_FEATURES).items()
    return serialize_columns(
        {f.name: np.asarray(arrays[name]) for name, f in features if name in arrays}
    )


def write_shard(path, pieces):
    """Writes serialized examples to one TFRecord file, whole or not at all.

    Args:
        path: str or path.
        pieces: iterable of `(keys, blob, ends)`, examples in their final order.

    Returns:
        Dict, the same as `index_records` returns for the file.
    """
    num_examples, size, run_offsets = 0, 0, []
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        for _, blob, ends in pieces:
            blob, ends = frame_records(blob, ends)
            file.write(blob)
            starts = size + ends - np.diff(ends, prepend=0)
            run_offsets += starts[-num_examples % RUN_RECORDS :: RUN_RECORDS].tolist()
            num_examples += len(ends)
            size += len(blob)
    return {"examples": num_examples, "bytes": size, "run_offsets": run_offsets}


def read_sizes(path):
    """Returns the `Sizes` of the first record of a file; None for an empty file.

    Raises:
        ValueError: If the file is truncated or corrupt, or has other content.
    """
    import tensorflow as tf
    from google.protobuf.message import DecodeError

    for record in read_records(path, count=1):
        try:
            found = tf.train.Example.FromString(record).features.feature
        except DecodeError:
            found = {}
        required = [feature.name for feature in FEATURES.values()]
        if not found.keys() >= {*required}:
            raise ValueError(
                "Pretraining records must be `tf.train.Example`s with the features "
                f"{', '.join(required)}. "
                f"Received: '{path}', with {', '.join(sorted(found)) or 'none'}."
            )
        names = ("input_ids", "masked_lm_positions", "pair_positions")
        return Sizes(*(len(found[n].int64_list.value) for n in names))
    return None


def parse_batch(records, sizes):
    """Parses serialized examples, in a graph or eagerly.

    Args:
        records: string tensor, `(batch,)`.
        sizes: `Sizes` of the records.

    Returns:
        Dict from our feature names to int32 or float32 tensors.
    """
    import tensorflow as tf

    features = FEATURES | (FILLED_FEATURES if sizes.max_pairs else {})
    spec = {}
    for feature in features.values():
        width = getattr(sizes, feature.width)
        dtype = tf.float32 if feature.dtype == np.float32 else tf.int64
        spec[feature.name] = tf.io.FixedLenFeature([width] if width else [], dtype)
    parsed = tf.io.parse_example(records, spec)
    return {
        name: tf.cast(parsed[feature.name], feature.dtype)
        for name, feature in features.items()
    }


def shard_path(folder, index, num_shards, name="pretraining"):
    """Returns the path of one shard, such as `pretraining-00003-of-00016.tfrecord`."""
    return pathlib.Path(folder, f"{name}-{index:05}-of-{num_shards:05}.tfrecord")


def find_shards(source):
    """Lists record files.

    Args:
        source: str or path of a folder or a file, or a list of files.

    Returns:
        List of paths: sorted for a folder, otherwise in the given order.

    Raises:
        FileNotFoundError: If a file does not exist, or a folder has no record files or
            lacks a shard.
    """
    if not isinstance(source, str | pathlib.Path):
        paths = [pathlib.Path(path) for path in source]
    elif pathlib.Path(source).is_dir():
        paths = pathlib.Path(source).glob("[!.]*.tfrecord")
        paths = sorted({sibling for path in paths for sibling in _siblings(path)})
    else:
        paths = [pathlib.Path(source)]
    if not paths:
        raise FileNotFoundError(
            f"`source` must hold TFRecord files. Received: '{source}', with none."
        )
    for path in paths:
        if not path.is_file():
            raise FileNotFoundError(
                f"`source` must have all its TFRecord files. Missing: '{path}'."
            )
    return paths


def _siblings(path):
    """Returns all shards of a file's data set."""
    shard = _SHARD.fullmatch(path.name)
    if shard is None:
        return [path]
    total = int(shard["total"])
    return [shard_path(path.parent, i, total, shard["name"]) for i in range(total)]


def write_description(folder, description):
    """Writes a dict as `dataset.json` beside the shards, whole or not at all."""
    write_json(pathlib.Path(folder, _DESCRIPTION), description)


def read_description(folder):
    """Returns `dataset.json` of a folder as a dict; None without that file."""
    path = pathlib.Path(folder, _DESCRIPTION)
    return read_json(path) if path.is_file() else None
