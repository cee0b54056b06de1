"""Examples to TFRecord files and back: the one place that knows Google's names.

The files are those of google-research/albert `create_pretraining_data.py`, so each
side reads what the other wrote. TensorFlow is imported on use.
"""

import json
import pathlib
import re

import numpy as np

from albert_keras.files import atomic_path

# Our name -> the original's. The sentence label keeps the name it had for BERT.
FEATURE_NAMES = {
    "token_ids": "input_ids",
    "padding_mask": "input_mask",
    "segment_ids": "segment_ids",
    "word_starts": "token_boundary",
    "mask_positions": "masked_lm_positions",
    "mask_ids": "masked_lm_ids",
    "mask_weights": "masked_lm_weights",
    "sop_label": "next_sentence_labels",
}
_FLOAT_FEATURES = {"mask_weights"}
_DESCRIPTION = "dataset.json"
_SHARD = re.compile(r"(?P<name>.*)-(?P<index>\d{5})-of-(?P<total>\d{5})\.tfrecord")


def shard_path(folder, index, num_shards, name="pretraining"):
    """Returns the path of one shard, such as `pretraining-00003-of-00016.tfrecord`."""
    return pathlib.Path(folder, f"{name}-{index:05}-of-{num_shards:05}.tfrecord")


def write_examples(path, examples):
    """Writes examples to one TFRecord file, whole or not at all.

    Args:
        path: str or path. Where the file shall stand.
        examples: iterable of mappings from our feature names to an array each; further
            keys are ignored.

    Returns:
        int, how many were written.
    """
    import tensorflow as tf

    num_examples = 0
    with atomic_path(path) as temporary, tf.io.TFRecordWriter(str(temporary)) as writer:
        for example in examples:
            writer.write(_serialize(tf.train.Example(), example))
            num_examples += 1
    return num_examples


def _serialize(message, example):
    features = message.features.feature
    for name, feature_name in FEATURE_NAMES.items():
        values = np.ravel(example[name]).tolist()
        if name in _FLOAT_FEATURES:
            features[feature_name].float_list.value.extend(values)
        else:
            features[feature_name].int64_list.value.extend(values)
    # Without `deterministic` the order of the features, so the bytes, may vary.
    return message.SerializeToString(deterministic=True)


def read_examples(path):
    """Reads the examples of one TFRecord file, one at a time.

    Args:
        path: str or path. Written by `write_examples` or by the original.

    Returns:
        Iterator of dicts from our feature names to an int32 or float32 array each.

    Raises:
        ValueError: If the file is truncated or corrupt, or holds something else.
    """
    import tensorflow as tf

    try:
        for record in tf.data.TFRecordDataset(str(path)).as_numpy_iterator():
            yield _parse(record, path)
    except tf.errors.DataLossError as error:
        raise ValueError(
            f"A TFRecord file must be whole. Received: '{path}', truncated or corrupt "
            f"({error.message}). Write it anew."
        ) from error


def _parse(record, path):
    import tensorflow as tf
    from google.protobuf.message import DecodeError

    try:
        features = tf.train.Example.FromString(record).features.feature
    except DecodeError:
        features = {}
    example = {}
    for name, feature_name in FEATURE_NAMES.items():
        if feature_name not in features:
            raise ValueError(
                "Pretraining records must be `tf.train.Example`s with the features "
                f"{', '.join(FEATURE_NAMES.values())}. "
                f"Received: '{path}', with {', '.join(sorted(features)) or 'none'}."
            )
        if name in _FLOAT_FEATURES:
            values = features[feature_name].float_list.value
            example[name] = np.array(values, np.float32)
        else:
            values = features[feature_name].int64_list.value
            example[name] = np.array(values, np.int32)
    example["sop_label"] = example["sop_label"][0]
    return example


def parse_batch(records, sequence_length, num_predictions):
    """Parses serialized examples, in a graph or eagerly.

    Args:
        records: string tensor, `(batch,)`.
        sequence_length: int. As written.
        num_predictions: int. As written.

    Returns:
        Dict from our feature names to int32 or float32 tensors.
    """
    import tensorflow as tf

    spec = {}
    for name, feature_name in FEATURE_NAMES.items():
        dtype = tf.float32 if name in _FLOAT_FEATURES else tf.int64
        size = num_predictions if name.startswith("mask_") else sequence_length
        shape = [] if name == "sop_label" else [size]
        spec[feature_name] = tf.io.FixedLenFeature(shape, dtype)
    parsed = tf.io.parse_example(records, spec)
    return {
        name: tensor if name in _FLOAT_FEATURES else tf.cast(tensor, tf.int32)
        for name, tensor in ((n, parsed[f]) for n, f in FEATURE_NAMES.items())
    }


def count_examples(path):
    """Counts the records of a TFRecord file by its framing, reading no payload.

    Args:
        path: str or path.

    Returns:
        int.

    Raises:
        ValueError: If the file ends within a record.
    """
    # A record: length (8 bytes), its checksum (4), payload, the payload's checksum (4).
    path = pathlib.Path(path)
    size, position, num_examples = path.stat().st_size, 0, 0
    with open(path, "rb") as file:
        while position < size:
            file.seek(position)
            position += 16 + int.from_bytes(file.read(8), "little")
            num_examples += 1
    if position != size:
        raise ValueError(
            "A TFRecord file must be whole. "
            f"Received: '{path}', truncated or corrupt at record {num_examples}, "
            f"which would end at byte {position} of {size}. Write it anew."
        )
    return num_examples


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
    with atomic_path(pathlib.Path(folder, _DESCRIPTION)) as temporary:
        temporary.write_text(json.dumps(description, indent=2) + "\n", "utf-8")


def read_description(folder):
    """Returns `dataset.json` of a folder as a dict; None without that file."""
    path = pathlib.Path(folder, _DESCRIPTION)
    return json.loads(path.read_text("utf-8")) if path.is_file() else None
