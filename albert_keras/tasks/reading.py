"""Reader of JSON lines and TFDS, and checks of rows and samples for all tasks."""

import itertools

from albert_keras.checks import check_is_list, shown
from albert_keras.text.text_files import UTF_8, read_json_lines
from albert_keras.text.tfds import PREFIX, read_tfds_examples

# Keys of rows that predictions ignore.
_UNREAD = ("id", "idx", "label", "labels", "tags", "answer", "answers")


def is_tfds(source):
    """Returns whether a source names a data set of TensorFlow Datasets."""
    return str(source).startswith(PREFIX)


def read_json_rows(source, decoding=UTF_8):
    """Yields the place (for errors) and dict of each row of JSON lines or TFDS."""
    if is_tfds(source):
        for number, row in read_tfds_examples(source):
            yield f"'{source}', row {number}", row
    else:
        for _, place, row in read_json_lines(source, decoding):
            yield place, row


def first_of(row, keys):
    """Returns the first value of a dict under one of `keys` that is not None, or None."""
    return next((row[key] for key in keys if row.get(key) is not None), None)


def as_columns(samples, *names, optional=None):
    """Returns the parts of samples, such as questions and contexts, as lists.

    Args:
        samples: List of tuples with a part for each name, or of dicts. If there is only
            one name, list of parts or dicts. Or the parts of one sample, if all are str,
            as from a command line.
        *names: Tuples of str. For each part, the names that it may have in a dict.
        optional: One of `names`, for a part that may be absent, or None. Default None.
    """
    check_is_list("samples", samples)
    is_tuple = isinstance(samples, tuple)
    samples = samples.tolist() if hasattr(samples, "tolist") else list(samples)
    if len(names) > 1 and is_tuple and all(isinstance(part, list) for part in samples):
        raise ValueError(
            "`samples` must be a list with a tuple for each sample. Received: a tuple of "
            "lists. Pass `list(zip(*samples))`."
        )
    has_parts = len(names) - (optional is not None) > 1
    if has_parts and samples and all(isinstance(part, str) for part in samples):
        samples = [samples]
    rows = [_parts_of(sample, names, optional) for sample in samples]
    if not rows:
        raise ValueError("There must be a sample. Received: samples=[].")
    return [list(column) for column in zip(*rows, strict=True)]


def as_rows(columns):
    """Returns a dict of columns as a list with a dict for each row."""
    rows = zip(*columns.values(), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _parts_of(sample, names, optional):
    """Returns the parts of a sample in the order of `names`, None for an absent part."""
    required = tuple(keys for keys in names if keys != optional)
    is_part = len(names) == 1 and not isinstance(sample, dict)
    if is_part or (isinstance(sample, str) and len(required) == 1):
        sample = (sample,)
    parts = {}
    if isinstance(sample, dict):
        parts = {keys: first_of(sample, keys) for keys in names}
    elif isinstance(sample, tuple | list):
        for given in (required, names):
            if len(given) == len(sample):
                parts = dict(zip(given, sample, strict=True))
    if any(parts.get(keys) is None for keys in required):
        raise ValueError(
            f"A sample must have {' and '.join(keys[0] for keys in required)}, in a "
            f"tuple or a dict. Received: {shown(sample)}."
        )
    known = dict.fromkeys((*itertools.chain(*names), *_UNREAD))
    if isinstance(sample, dict) and not sample.keys() <= known.keys():
        raise ValueError(
            f"A sample must have no other keys than {', '.join(known)}. Received: "
            f"{shown([*sample])}. Remove the others."
        )
    return [parts.get(keys) for keys in names]


def labels_or_none(labels, places, rule):
    """Returns the labels of rows, or None if no row has one; an error if only some have.

    Args:
        labels: list of each row's label, or None.
        places: list of str. Place of each row, for the error.
        rule: str, such as "questions must have answers".
    """
    rows = zip(places, labels, strict=True)
    without = [place for place, label in rows if label is None]
    if without and len(without) < len(labels):
        raise ValueError(
            f"Either all {rule}, or none. Received: {without[0]}, without."
        )
    return None if without else labels


def check_labelled(labels, source, needed):
    """Checks that rows have labels. `needed` describes them: "a tag for each word"."""
    if labels is None:
        raise ValueError(
            f"Training and evaluation need {needed}. Received: '{source}', without."
        )
