"""Examples to record files and back: the one place that knows Google's names.

The files are those of google-research/albert `create_pretraining_data.py`, so each
side reads what the other wrote. Only reading needs TensorFlow, which is imported then.
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
    """What all records of a data set share.

    Attributes:
        sequence_length: int. In tokens.
        max_predictions: int. Room for predictions in an example.
        max_pairs: int. Room for pairs in an example; 0 where each is of one pair.
    """

    sequence_length: int
    max_predictions: int
    max_pairs: int = 0


class _Feature(NamedTuple):
    """How files hold one array: by which name, how wide (in `Sizes`), of which type."""

    name: str
    width: str
    dtype: type = np.int32


# Our name -> the original's. The sentence label keeps the name it had for BERT.
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
# What examples of several pairs have besides. The original has none of these.
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
        path: str or path. Where the file shall stand.
        pieces: iterable of `(keys, blob, ends)`, as `merge_runs` yields them, the items
            as of `serialize_examples`.

    Returns:
        Dict, as `index_records` would return it.
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


def read_examples(path):
    """Reads the examples of one TFRecord file, one at a time.

    Args:
        path: str or path. Ours, or written by the original.

    Returns:
        Iterator of dicts from our feature names to an int32 or float32 array each.

    Raises:
        ValueError: If the file is truncated or corrupt, or holds something else.
    """
    for record in read_records(path):
        yield _parse(record, path)


def _parse(record, path):
    import tensorflow as tf
    from google.protobuf.message import DecodeError

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
    example = {}
    for name, feature in (FEATURES | FILLED_FEATURES).items():
        if feature.name in found:
            values = found[feature.name]
            kind = "float_list" if feature.dtype == np.float32 else "int64_list"
            example[name] = np.array(getattr(values, kind).value, feature.dtype)
    if "pair_positions" not in example:
        example["sop_label"] = example["sop_label"][0]
    return example


def parse_batch(records, sizes):
    """Parses serialized examples, in a graph or eagerly.

    Args:
        records: string tensor, `(batch,)`.
        sizes: `Sizes`, as written.

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
    """Lists the record files that `source` stands for.

    Args:
        source: str or path of a folder or a file, or a list of files.

    Returns:
        List of paths: sorted for a folder, else in the order given.

    Raises:
        FileNotFoundError: If a file does not exist, or a folder holds none, or lacks
            one of the shards that the others' names tell of.
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
    """Returns all shards of the set that `path` belongs to."""
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
