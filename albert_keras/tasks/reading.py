"""Rows of JSON lines and TFDS, and checks that several tasks share."""

from albert_keras.checks import check_is_list
from albert_keras.text.text_files import UTF_8, read_json_lines
from albert_keras.text.tfds import PREFIX, read_tfds_examples


def is_tfds(source):
    """Returns whether a source names a data set of TensorFlow Datasets."""
    return str(source).startswith(PREFIX)


def read_json_rows(source, decoding=UTF_8):
    """Yields the place, for errors, and the dict of each row of JSON lines or TFDS."""
    if is_tfds(source):
        for number, row in read_tfds_examples(source):
            yield f"'{source}', row {number}", row
    else:
        for _, place, row in read_json_lines(source, decoding):
            yield place, row


def as_columns(samples, *names):
    """Returns the parts of samples, such as questions and contexts, as lists.

    Args:
        samples: List of tuples with a part for each name. Or the parts of one sample, if
            all are str, as from a command line.
        *names: str. What the parts are, for the error.
    """
    check_is_list("samples", samples)
    samples = list(samples)
    if samples and all(isinstance(part, str) for part in samples):
        samples = [samples]
    wrong = [sample for sample in samples if len(sample) != len(names)]
    if wrong or not samples:
        raise ValueError(
            f"A sample must be a tuple of {', '.join(names)}. "
            f"Received: {wrong[0] if wrong else 'no sample'!r}."
        )
    return [list(column) for column in zip(*samples, strict=True)]


def labels_or_none(labels, places, rule):
    """Returns the labels of rows, or None if no row has one; raises if only some have.

    Args:
        labels: list of the label, or None, of each row.
        places: list of str. Place of each row, for the error.
        rule: str, such as "questions must have answers".
    """
    without = [
        place for place, label in zip(places, labels, strict=True) if label is None
    ]
    if without and len(without) < len(labels):
        raise ValueError(
            f"Either all {rule}, or none. Received: {without[0]}, without."
        )
    return None if without else labels


def check_labelled(labels, source, needed):
    """Checks that rows have labels, named by `needed`: "a tag for each word"."""
    if labels is None:
        raise ValueError(
            f"Training and evaluation need {needed}. Received: '{source}', without."
        )
