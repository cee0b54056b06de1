"""Labelled texts: reading tables, and batches for fine-tuning."""

import csv
import pathlib
from typing import NamedTuple

import numpy as np

from albert_keras.data.text_files import json_object, read_lines


class LabelledTexts(NamedTuple):
    """Rows of a table, in the file's order.

    Attributes:
        texts: list of str.
        labels: list of str.
    """

    texts: list
    labels: list


def read_labelled_texts(path, text_column="text", label_column="label"):
    """Reads texts and labels from a TSV, CSV or JSONL file.

    The first line of TSV and CSV names the columns; others than the two are left out.
    TSV has no quoting, as GLUE's files; CSV has the usual one. Numbers in JSONL become
    str, so that labels compare alike in all formats.

    Args:
        path: str or path, with one of the suffixes of `READERS`.
        text_column: str. Name of the column with the text.
        label_column: str. Name of the column with the label.

    Returns:
        `LabelledTexts`, at least one row.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the suffix is unknown, the file is empty or not UTF-8, a column
            is missing, or a row lacks a value, with its line number.
    """
    path = pathlib.Path(path)
    if path.suffix not in READERS:
        raise ValueError(
            f"The suffix must be one of {', '.join(READERS)}. Received: '{path}'."
        )
    texts, labels = [], []
    for line_number, row in READERS[path.suffix](path):
        for column, values in ((text_column, texts), (label_column, labels)):
            if column not in row:
                raise ValueError(
                    f"The columns must include `{text_column}` and `{label_column}`. "
                    f"Received: '{path}', line {line_number}: "
                    f"{', '.join(map(str, row))}. Name yours by `text_column` and "
                    "`label_column`."
                )
            if row[column] in (None, ""):
                raise ValueError(
                    f"Each row must have a `{column}`. "
                    f"Received: '{path}', line {line_number}, without one."
                )
            values.append(str(row[column]))
    if not texts:
        raise ValueError(f"The file must hold a row. Received: '{path}', empty.")
    return LabelledTexts(texts, labels)


def label_ids(labels, names):
    """Returns the positions of `labels` in `names`, int32 `(num_rows,)`.

    Raises:
        ValueError: If a label is not among `names`.
    """
    unknown = sorted(set(labels) - set(names))
    if unknown:
        raise ValueError(
            f"A label must be one of {', '.join(names)}. "
            f"Received: {', '.join(unknown[:5])}."
        )
    positions = {name: index for index, name in enumerate(names)}
    return np.array([positions[label] for label in labels], np.int32)


def labelled_dataset(
    texts, labels, preprocessor, batch_size, *, seed=None, start_step=0
):
    """Batches of preprocessed texts for `model.fit`.

    With a `seed` for training: endless, full batches only, in a new order each epoch
    that is a function of seed and epoch, from batch `start_step` on. Without one for
    evaluation: one pass in order, and the last batch may be smaller.

    Args:
        texts: list of str.
        labels: integers, `(num_texts,)`.
        preprocessor: Keras layer from a batch of strings to the model's inputs.
        batch_size: int >= 1, and at most the number of texts with a seed.
        seed: int >= 0, or None.
        start_step: int >= 0. Batches to leave out at the start.

    Returns:
        `tf.data.Dataset` of `(inputs, labels)`.

    Raises:
        ValueError: If there are fewer texts than a batch holds, with a seed.
    """
    import tensorflow as tf

    if seed is not None and len(texts) < batch_size:
        raise ValueError(
            "Training needs at least a batch of rows. "
            f"Received: {len(texts)} rows, batch_size={batch_size}."
        )
    all_texts, all_labels = tf.constant(texts), tf.constant(labels)

    def shuffled_rows(epoch):
        rows = tf.random.experimental.stateless_shuffle(
            tf.range(len(texts)), tf.stack([tf.constant(seed, tf.int64), epoch])
        )
        return tf.data.Dataset.from_tensor_slices(rows)

    if seed is None:
        rows = tf.data.Dataset.range(len(texts))
    else:
        epoch, skipped = divmod(start_step * batch_size, len(texts))
        endless = tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY)
        rows = tf.data.Dataset.counter(epoch).flat_map(shuffled_rows)
        rows = rows.apply(endless).skip(skipped)

    def look_up(rows):
        inputs = preprocessor(tf.gather(all_texts, rows))
        return tf.nest.map_structure(_as_number, inputs), tf.gather(all_labels, rows)

    batches = rows.batch(batch_size, drop_remainder=seed is not None)
    return batches.map(look_up, tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)


def _as_number(tensor):
    import tensorflow as tf

    # keras-hub makes boolean masks, which MirroredStrategy cannot cut.
    return tf.cast(tensor, tf.int32) if tensor.dtype == tf.bool else tensor


def _read_tsv(path):
    yield from _read_rows(path, delimiter="\t", quoting=csv.QUOTE_NONE)


def _read_csv(path):
    yield from _read_rows(path, strict=True)


def _read_rows(path, **dialect):
    reader = csv.DictReader(read_lines(path), **dialect)
    try:
        for row in reader:
            # The key of cells without a name; "" is a name, of pandas' index.
            if None in row:
                raise ValueError(
                    "A row must have as many cells as the first line has names. "
                    f"Received: '{path}', line {reader.line_num}, with more."
                )
            yield reader.line_num, row
    except csv.Error as error:
        raise ValueError(
            f"The file must be a table. Received: '{path}', "
            f"line {reader.line_num}: {error}."
        ) from error


def _read_jsonl(path):
    for line_number, line in enumerate(read_lines(path), start=1):
        if line.strip():
            yield line_number, json_object(line, f"'{path}', line {line_number}")


READERS = {".tsv": _read_tsv, ".csv": _read_csv, ".jsonl": _read_jsonl}
