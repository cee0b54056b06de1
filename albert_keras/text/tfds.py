"""TensorFlow Datasets (TFDS) as corpora and as labelled rows.

Reading imports TensorFlow, also in worker processes; finding the files does not.
"""

import itertools
import os
import re

import numpy as np

from albert_keras.checks import import_optional
from albert_keras.text.sentences import split_paragraphs
from albert_keras.text.text_files import check_text_column, decode

PREFIX = "tfds:"

# A split begins with a letter: a digit after the colon is a version of the name.
_SOURCE = re.compile(r"tfds:(?P<name>.+?)(:(?P<split>[^\W\d][^/]*))?")
_BATCH_SIZE = 256


def find_shards(source, text_column):
    """Finds the files of a prepared TFDS data set.

    The source is `"tfds:NAME:SPLIT"`, as for `tfds.load`. The name can also be the folder
    of a version; the default split is `train`. Returns a list of `(path, start, stop,
    num_records)`: a TFRecord file, the range of records to read, and the number of
    records in the file.

    Raises:
        ImportError: If tensorflow-datasets is not installed.
        ValueError: If the source has another form, there is no such data set, split or
            feature, or its files are not TFRecords.
    """
    builder, split = _find_split(source)
    info = builder.info
    texts = sorted(n for n, f in info.features.items() if type(f).__name__ == "Text")
    check_text_column("TFDS data set", text_column, texts, source)
    if info.file_format.value != "tfrecord":
        raise ValueError(
            f"The files of a TFDS data set must be TFRecords. Received: '{source}', in "
            f"the format {info.file_format.value}. Convert it by `tfds convert_format`."
        )
    return [
        (str(i.filename), i.skip, i.skip + i.take, i.examples_in_shard)
        for i in info.splits[split].file_instructions
    ]


def read_tfds_examples(source, label_is_index=False):
    """Yields the examples of a TFDS data set as JSON values.

    Args:
        source: As for `find_shards`, with its errors.
        label_is_index: bool. Whether class labels are numbers, as in some of GLUE's
            files, instead of names.

    Yields:
        Tuples of the example's number, in the order of the files, and a dict from
        feature to str, int, float or bool, or lists and dicts of these; `None` for an
        unknown class (-1). A sequence of dicts is a dict of lists.
    """
    builder, split = _find_split(source)
    tfds = import_optional("tensorflow_datasets", "datasets")
    # The default interleaves the rows of several files.
    in_order = tfds.ReadConfig(interleave_cycle_length=1)
    examples = builder.as_dataset(split=split, read_config=in_order)
    # 3 times as fast as single examples.
    batches = tfds.as_numpy(examples.ragged_batch(_BATCH_SIZE))
    features = builder.info.features
    columns = (_as_json(batch, features, label_is_index) for batch in batches)
    yield from enumerate(itertools.chain.from_iterable(map(_rows, columns)))


def _rows(columns):
    """Yields the rows of a dict of columns, which may be nested."""
    values = (_rows(c) if isinstance(c, dict) else c for c in columns.values())
    for row in zip(*values, strict=True):
        yield dict(zip(columns, row, strict=True))


def _as_json(value, feature, label_is_index):
    if isinstance(value, dict):
        return {
            name: _as_json(part, feature[name], label_is_index)
            for name, part in value.items()
        }
    # Lists of different lengths stay ragged tensors in `as_numpy`.
    if hasattr(value, "to_list"):
        value = value.numpy()
    if getattr(value, "ndim", 0):
        return [_as_json(part, feature, label_is_index) for part in value]
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if hasattr(feature, "int2str"):
        label = int(value) if label_is_index else feature.int2str(max(value, 0))
        return None if value < 0 else label
    # Via str, so that the float32 3.8 stays 3.8.
    return float(str(value)) if isinstance(value, np.floating) else value.item()


def _find_split(source):
    """Returns the `DatasetBuilder` and the split of a source."""
    match = _SOURCE.fullmatch(source)
    if match is None:
        raise ValueError(
            "A TFDS source must be `tfds:NAME` or `tfds:NAME:SPLIT`, for example "
            f"'tfds:wikipedia/20230601.en:train'. Received: '{source}'."
        )
    tfds = import_optional("tensorflow_datasets", "datasets")
    name, split = match["name"], match["split"] or "train"
    try:
        if os.path.isdir(name):
            builder = tfds.builder_from_directory(name)
        else:
            builder = tfds.builder(name, data_dir=os.environ.get("TFDS_DATA_DIR"))
        is_prepared = builder.is_prepared()
    except (tfds.core.DatasetNotFoundError, FileNotFoundError):
        is_prepared = False
    if not is_prepared:
        raise ValueError(
            f"A TFDS data set must have been prepared. Received: '{source}'. Run `tfds "
            f"build {name}`, or set TFDS_DATA_DIR to where it is."
        )
    try:
        builder.info.splits[split]
    except (KeyError, ValueError) as error:
        raise ValueError(
            f"The split must be one of {', '.join(builder.info.splits)}, or made of "
            f"these. Received: '{source}'."
        ) from error
    return builder, split


def read_tfds(piece, options, counts):
    """Yields the documents of a range of records in one file; as `read_piece`."""
    import tensorflow as tf

    tfds = import_optional("tensorflow_datasets", "datasets")
    file, column = piece.source, options.text_column
    features = tfds.builder_from_directory(os.path.dirname(file)).info.features
    # Only the text is parsed, not images and other features.
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
