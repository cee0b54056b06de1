"""Record files of examples, in the format of google-research/albert, and their index.

The files have the feature names of its `create_pretraining_data.py`, so both programs
read each other's files. Only reading imports TensorFlow.
"""

import re
from typing import NamedTuple

import numpy as np

from albert_keras.checks import check_json
from albert_keras.pretraining.tfrecord import (
    RUN_RECORDS,
    frame_record,
    index_records,
    read_records,
    serialize_columns,
)
from albert_keras.system.files import atomic_path, read_json, write_json
from albert_keras.system.storage import to_path


class Sizes(NamedTuple):
    """Widths of the features, the same in all records of a data set."""

    sequence_length: int
    max_predictions: int
    max_pairs: int = 0  # of a filled row; 0 for examples of one pair


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
# The form of that file, as of `checks.check_json`: of a token store, and of records, of
# which earlier versions had fewer.
_CHECKSUMS = ("lengths_checksum", "ids_checksum")
_COUNTS = ("offset", "num_bytes", "num_documents", "num_sentences", "num_tokens")
_STORE = {
    "config": dict,
    "shards": {str: [dict.fromkeys((*_COUNTS, *_CHECKSUMS), int)]},
    "special_token_ids": [int],
    "vocabulary_size": int,
}
_RECORDS = {
    **dict.fromkeys(("sequence_length", "max_predictions", "max_pairs"), int),
    "config": dict,
    "sentence_pairs": str,
    "shards": {str: {"examples": int, "bytes": int, "run_offsets": [int]}},
    "vocabulary_size": int,
}
_SHARD = re.compile(r"(?P<name>.*)-(?P<index>\d{5})-of-(?P<total>\d{5})\.tfrecord")


def serialize_examples(arrays):
    """Serializes arrays `(num_examples, ...)` to a list of `tf.train.Example`s, bytes.

    Keys are our feature names; others are ignored.
    """
    features = (FEATURES | FILLED_FEATURES).items()
    return serialize_columns(
        {f.name: np.asarray(arrays[name]) for name, f in features if name in arrays}
    )


def write_shard(path, examples):
    """Writes serialized examples, an iterable of bytes, to one TFRecord file atomically.

    Returns:
        Dict, the same as `index_records` returns for the file.
    """
    num_examples, size, run_offsets = 0, 0, []
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        for example in examples:
            if num_examples % RUN_RECORDS == 0:
                run_offsets.append(size)
            num_examples += 1
            size += file.write(frame_record(example))
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


def feature_shapes(sizes):
    """Returns name, shape and type of each feature of an example of some `Sizes`."""
    features = FEATURES | (FILLED_FEATURES if sizes.max_pairs else {})
    widths = {name: getattr(sizes, f.width) for name, f in features.items()}
    return [
        (name, (widths[name],) if widths[name] else (), feature.dtype)
        for name, feature in features.items()
    ]


def parse_batch(records, sizes):
    """Parses serialized examples, a list of bytes, of some `Sizes`, to arrays."""
    import tensorflow as tf

    features = FEATURES | FILLED_FEATURES
    shapes = feature_shapes(sizes)
    spec = {
        features[name].name: tf.io.FixedLenFeature(
            shape, tf.float32 if dtype == np.float32 else tf.int64
        )
        for name, shape, dtype in shapes
    }
    with tf.device("CPU"):
        parsed = tf.io.parse_example(records, spec)
    return {
        name: parsed[features[name].name].numpy().astype(dtype)
        for name, _, dtype in shapes
    }


def shard_path(folder, index, num_shards, name="pretraining"):
    """Returns the path of one shard, such as `pretraining-00003-of-00016.tfrecord`."""
    return to_path(folder) / f"{name}-{index:05}-of-{num_shards:05}.tfrecord"


def find_shards(source):
    """Lists record files: sorted for a folder, otherwise in the given order.

    Args:
        source: str or path of a folder or a file, or a list of files.

    Raises:
        FileNotFoundError: If a file does not exist, or a folder has no record files or
            lacks a shard.
    """
    if isinstance(source, list | tuple):
        paths = [to_path(path) for path in source]
    elif to_path(source).is_dir():
        found = to_path(source).glob("[!.]*.tfrecord")
        paths = sorted({sibling for path in found for sibling in _siblings(path)})
    else:
        paths = [to_path(source)]
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
    write_json(to_path(folder) / _DESCRIPTION, description)


def read_description(folder):
    """Returns `dataset.json` of a folder as a dict; None without that file."""
    path = to_path(folder) / _DESCRIPTION
    try:
        # `is_file` of an address is false, too, while the network fails.
        description = read_json(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    template = _STORE
    if description.get("kind") != "tokens":
        template = {key: _RECORDS[key] for key in _RECORDS if key in description}
    check_json(description, template, path)
    return description


class RecordIndex(NamedTuple):
    """Runs of up to 4,096 consecutive records, in the order of the files."""

    paths: list  # (num_runs,) file of each run
    offsets: np.ndarray  # (num_runs,) its first byte
    counts: np.ndarray  # (num_runs,) its number of records
    sizes: Sizes

    @property
    def num_examples(self):
        """Number of records in all runs."""
        return int(self.counts.sum())


def index_files(paths, expected):
    """Finds the runs of record files.

    Files that `dataset.json` describes are not read; of others, the framing and the
    first record are. Of the `expected` `Sizes`, None allows any.

    Raises:
        ValueError: If a file is truncated, differs from its description, has examples
            of other sizes than expected or than the other files, or no file has a
            record.
    """
    descriptions = {path.parent: read_description(path.parent) or {} for path in paths}
    names, offsets, counts = [], [], []
    for path in paths:
        description = descriptions[path.parent]
        shard = description.get("shards", {}).get(path.name)
        if shard is None:
            shard = index_records(path)
            sizes = read_sizes(path)
        else:
            sizes = Sizes(*(description.get(name, 0) for name in Sizes._fields))
            num_bytes, num_runs = path.stat().st_size, len(shard["run_offsets"])
            if num_runs != -(-shard["examples"] // RUN_RECORDS):
                raise ValueError(
                    "A record file must have an offset in its `dataset.json` for every "
                    f"{RUN_RECORDS} examples. Received: '{path}' of "
                    f"{shard['examples']} examples with {num_runs}. Prepare it again."
                )
            if num_bytes != shard["bytes"]:
                raise ValueError(
                    "A record file must have the size given in its `dataset.json`. "
                    f"Received: '{path}' of {num_bytes} bytes instead of "
                    f"{shard['bytes']}. Copy it again, or prepare the data again."
                )
        if shard["examples"]:
            for name, wanted, size in zip(Sizes._fields, expected, sizes, strict=True):
                if wanted not in (None, size):
                    raise ValueError(
                        f"`{name}` must be that of the records. Received: "
                        f"{name}={wanted}, but '{path}' has {size}."
                    )
            expected = sizes
            num_full, rest = divmod(shard["examples"], RUN_RECORDS)
            names += [str(path)] * len(shard["run_offsets"])
            offsets += shard["run_offsets"]
            counts += [RUN_RECORDS] * num_full + [rest] * (rest > 0)
    if not counts:
        received = ", ".join(f"'{path}'" for path in paths)
        raise ValueError(f"`source` must hold a record. Received: {received}, empty.")
    return RecordIndex(names, np.array(offsets), np.array(counts), expected)
