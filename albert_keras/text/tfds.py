"""TensorFlow Datasets (TFDS) as corpora and as labelled rows.

Reading imports TensorFlow, also in worker processes; finding the files does not.
"""

import itertools
import os
import re

import numpy as np

from albert_keras.checks import import_optional
from albert_keras.text.sentences import split_paragraphs
from albert_keras.text.text_files import decode

PREFIX = "tfds:"

# After a name's colon may be a version, which begins with a digit.
_SOURCE = re.compile(r"tfds:(?P<name>.+?)(:(?P<split>[^\W\d][^/]*))?")
_BATCH_SIZE = 256


def find_shards(source, text_column):
    """Finds the files of a TFDS data set, which must have been prepared.

    Args:
        source: str, `"tfds:NAME:SPLIT"`. The name as for `tfds.load`, with its config
            and maybe version, or the folder of one version; the split as there, a slice
            too: `"tfds:wikipedia/20230601.en:train[:10%]"`. It is `train` by default.
        text_column: str. The feature with the text.

    Returns:
        List of `(path, start, stop, num_records)`: a TFRecord file, which of its
        records are wanted, and how many it has.

    Raises:
        ImportError: If tensorflow-datasets is not installed.
        ValueError: If the source is written otherwise, there is no such data set or
            split, its files are not TFRecords, or it has no such text.
    """
    info, split = _find_split(source)
    _check_features(info, source, text_column)
    return [
        (str(i.filename), i.skip, i.skip + i.take, i.examples_in_shard)
        for i in info.splits[split].file_instructions
    ]


def read_tfds_rows(source, label_is_index=False):
    """Yields the rows of a TFDS data set as of a table.

    Args:
        source, label_is_index: As for `read_tfds_examples`.

    Yields:
        Tuples of the row's number and a dict from a feature to its str, or `None`.
        Lists and dicts are left out.

    Raises:
        ImportError, ValueError: As `find_shards`.
    """
    for number, example in read_tfds_examples(source, label_is_index):
        cells = {
            name: None if value is None else str(value)
            for name, value in example.items()
            if not isinstance(value, list | dict)
        }
        yield number, cells


def read_tfds_examples(source, label_is_index=False):
    """Yields the examples of a TFDS data set, as JSON would hold them.

    Args:
        source: As for `find_shards`.
        label_is_index: bool. Whether classes are given by their numbers, as those of
            some of GLUE's files, rather than by their names.

    Yields:
        Tuples of the example's number, in the files' order, and a dict from a feature to
        a str, int, float or bool, or lists and dicts of these; `None` for a class of
        -1, which says that it is not known. A sequence of dicts is a dict of lists.

    Raises:
        ImportError, ValueError: As `find_shards`.
    """
    info, split = _find_split(source)
    tfds = import_optional("tensorflow_datasets", "datasets")
    builder = tfds.builder_from_directory(info.data_dir)
    # One file after the other: TFDS would take rows of several in turn.
    in_order = tfds.ReadConfig(interleave_cycle_length=1)
    examples = builder.as_dataset(split=split, read_config=in_order)
    # One by one they take three times as long.
    batches = tfds.as_numpy(examples.ragged_batch(_BATCH_SIZE))
    columns = (_as_json(batch, info.features, label_is_index) for batch in batches)
    yield from enumerate(itertools.chain.from_iterable(map(_rows, columns)))


def _rows(columns):
    """Yields the rows of a dict of columns, which may be dicts of columns too."""
    values = (_rows(c) if isinstance(c, dict) else c for c in columns.values())
    for row in zip(*values, strict=True):
        yield dict(zip(columns, row, strict=True))


def _as_json(value, feature, label_is_index):
    if isinstance(value, dict):
        return {
            name: _as_json(part, feature[name], label_is_index)
            for name, part in value.items()
        }
    # Lists of several lengths are ragged tensors, even to `as_numpy`.
    if hasattr(value, "to_list"):
        value = value.numpy()
    if getattr(value, "ndim", 0):
        return [_as_json(part, feature, label_is_index) for part in value]
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if hasattr(feature, "int2str"):
        return _class_label(int(value), feature, label_is_index)
    # A float32 of 3.8 is to stay 3.8.
    return float(str(value)) if isinstance(value, np.floating) else value.item()


def _class_label(value, feature, label_is_index):
    if value < 0:
        return None
    return value if label_is_index else feature.int2str(value)


def _find_split(source):
    """Returns the `DatasetInfo` and the split that a source means."""
    match = _SOURCE.fullmatch(source)
    if match is None:
        raise ValueError(
            "A TFDS source must be `tfds:NAME` or `tfds:NAME:SPLIT`, for example "
            f"'tfds:wikipedia/20230601.en:train'. Received: '{source}'."
        )
    info = _dataset_info(import_optional("tensorflow_datasets", "datasets"), match)
    split = match["split"] or "train"
    try:
        info.splits[split]
    except (KeyError, ValueError) as error:
        raise ValueError(
            f"The split must be one of {', '.join(info.splits)}, or made of these. "
            f"Received: '{source}'."
        ) from error
    return info, split


def _dataset_info(tfds, match):
    name = match["name"]
    try:
        if os.path.isdir(name):
            return tfds.builder_from_directory(name).info
        builder = tfds.builder(name, data_dir=os.environ.get("TFDS_DATA_DIR"))
        is_prepared = builder.is_prepared()
    except (tfds.core.DatasetNotFoundError, FileNotFoundError):
        is_prepared = False
    if not is_prepared:
        raise ValueError(
            "A TFDS data set must have been prepared. "
            f"Received: '{match[0]}', which is not there. Run `tfds build {name}`, or "
            "set TFDS_DATA_DIR to where it is."
        )
    return builder.info


def _check_features(info, source, text_column):
    texts = sorted(
        name
        for name, feature in info.features.items()
        if type(feature).__name__ == "Text"
    )
    if text_column not in texts:
        raise ValueError(
            f"A TFDS data set must have a feature `{text_column}` of text. "
            f"Received: '{source}', whose texts are {texts}. "
            "Name one by `text_column` (`--text-column`)."
        )
    if info.file_format.value != "tfrecord":
        raise ValueError(
            "The files of a TFDS data set must be TFRecords. "
            f"Received: '{source}', in the format {info.file_format.value}. Convert it "
            "by `tfds convert_format`."
        )


def read_tfds(piece, options, counts):
    """Yields the documents of a range of records in one file of a TFDS data set.

    Args:
        piece, options, counts: As for `read_piece` (`formats.py`).

    Raises:
        ValueError: If the file is damaged, or a record lacks the text.
    """
    import tensorflow as tf

    tfds = import_optional("tensorflow_datasets", "datasets")
    file, column = piece.source, options.text_column
    features = tfds.builder_from_directory(os.path.dirname(file)).info.features
    # Only the text is parsed, not images and other features beside it.
    features = tfds.features.FeaturesDict({column: features[column]})
    records = tf.data.TFRecordDataset(file).skip(piece.start)
    texts = records.take(piece.stop - piece.start).map(
        lambda record: features.deserialize_example(record)[column]
    )
    try:
        for number, content in enumerate(texts.as_numpy_iterator(), piece.start):
            place = f"'{file}', record {number}"
            text = decode(content, place, 0, options.errors, counts)
            yield split_paragraphs(text)
    except tf.errors.OpError as error:
        raise ValueError(
            f"A file of a TFDS data set must be whole. Received: '{file}': "
            f"{error.message}"
        ) from error
