"""Labelled texts and pairs of texts: tables, folders of text files, and TFDS."""

import dataclasses
import pathlib
from typing import NamedTuple

import numpy as np

from albert_keras.text.tables import read_table
from albert_keras.text.text_files import decode
from albert_keras.text.tfds import PREFIX, read_tfds_rows

_MAX_FLOAT32 = float(np.finfo(np.float32).max)


class LabelledTexts(NamedTuple):
    """Columns of rows, in the order of the file.

    Attributes:
        texts: list of str.
        labels: list of str, or None if unknown.
        pairs: list of str, the second text of each row; None for single texts.
        num_skipped: int. Number of incomplete rows that were skipped.
    """

    texts: list
    labels: list | None
    pairs: list | None = None
    num_skipped: int = 0


@dataclasses.dataclass(frozen=True)
class Columns:
    """Names and options of the columns of a table.

    Args:
        text: str. Column of the text, or of the first of two. Default `"text"`.
        label: str. Column of the label. Default `"label"`.
        pair: str. Column of the second text. Default None: single texts.
        header: Tuple of str. Columns of TSV and CSV files without a header line. Default
            None: the first line names them.
        label_is_index: bool. Whether labels are the numbers of TFDS's classes instead of
            their names. Default False.
        skips_broken: bool. Whether incomplete rows, as in GLUE's QQP, are skipped and
            counted instead of errors. Default False.
    """

    text: str = "text"
    label: str = "label"
    pair: str | None = None
    header: tuple | None = None
    label_is_index: bool = False
    skips_broken: bool = False

    def renamed(self, text=None, label=None, pair=None):
        """Returns a copy with the names that are given."""
        return dataclasses.replace(
            self,
            text=text or self.text,
            label=label or self.label,
            pair=pair or self.pair,
        )


def read_labelled_texts(source, columns=None, *, needs_labels=True):
    """Reads texts, or pairs, and labels.

    Args:
        source: str or path: a table (see `read_table`); a folder with a folder of text
            files for each label, as IMDB's `pos` and `neg`; or `"tfds:NAME:SPLIT"`.
        columns: `Columns`. Default None: its defaults.
        needs_labels: bool. Whether labels are read; otherwise they are None. Default
            True.

    Returns:
        `LabelledTexts`, at least one row.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the source is not a table, has no row or lacks a column, or a row
            lacks a value; with the number of the row.
    """
    columns = columns or Columns()
    if str(source).startswith(PREFIX):
        rows = list(read_tfds_rows(str(source), columns.label_is_index))
        # TFDS stores rows shuffled; GLUE's server needs the order of its files.
        rows.sort(key=_number_in_file)
        rows = ((f"row {number}", row) for number, row in rows)
    elif pathlib.Path(source).is_dir():
        rows = _read_folder(pathlib.Path(source), columns)
    else:
        rows = read_table(source, columns.header)
        rows = ((f"line {number}", row) for number, row in rows)
    return _collect(source, rows, columns, needs_labels)


def label_numbers(labels):
    """Returns labels as numbers, float32 `(num_rows,)`, for regression.

    Raises:
        ValueError: If a label is not a finite number.
    """
    numbers = np.array([_number(label) for label in labels], np.float32)
    wrong = [label for label, x in zip(labels, numbers, strict=True) if x != x]
    if wrong:
        raise ValueError(
            "A label must be a finite number, for regression. "
            f"Received: {', '.join(wrong[:5])}."
        )
    return numbers


def _number(label):
    try:
        number = float(label)
    except ValueError:
        return np.nan
    return number if abs(number) <= _MAX_FLOAT32 else np.nan


def _number_in_file(numbered_row):
    index = numbered_row[1].get("idx") or ""
    return int(index) if index.isdecimal() else 0


def _collect(source, rows, columns, needs_labels):
    """Returns the `LabelledTexts` of tuples of a place, for errors, and a row."""
    wanted, kept, num_skipped = _wanted_columns(columns, needs_labels), [], 0
    for place, row in rows:
        missing = [name for name in wanted if _is_missing(row, name)]
        if not missing:
            kept.append(row)
        elif columns.skips_broken and row.keys() >= set(wanted):
            # Predictions need a row for each row of the file.
            if needs_labels:
                num_skipped += 1
            else:
                kept.append({**row, **dict.fromkeys(missing, "")})
        else:
            _raise_missing(source, place, row, wanted, missing)
    if not kept:
        raise ValueError(
            "There must be at least one whole row. "
            f"Received: '{source}', with {num_skipped} broken ones."
        )

    def column(name):
        return [row[name] for row in kept] if name in wanted else None

    return LabelledTexts(
        column(columns.text), column(columns.label), column(columns.pair), num_skipped
    )


def _is_missing(row, name):
    return row.get(name) in (None, "")


def _wanted_columns(columns, needs_labels):
    names = [columns.text]
    if needs_labels:
        names.append(columns.label)
    if columns.pair:
        names.append(columns.pair)
    return names


def _raise_missing(source, place, row, wanted, missing):
    if row.keys() >= set(wanted):
        raise ValueError(
            f"Each row must have a `{missing[0]}`. "
            f"Received: '{source}', {place}, without one."
        )
    raise ValueError(
        f"The columns must include {', '.join(f'`{name}`' for name in wanted)}. "
        f"Received: '{source}', {place}: {', '.join(row)}. Name yours by "
        "`--text-column`, `--pair-column` and `--label-column`."
    )


def _read_folder(folder, columns):
    """Yields the place and row of each text file in the folders of a folder."""
    labels = sorted(path.name for path in folder.iterdir() if path.is_dir())
    for label in labels:
        # IMDB's folder of unlabelled reviews.
        if label == "unsup":
            continue
        for path in sorted(folder.joinpath(label).glob("*.txt")):
            text = decode(path.read_bytes(), f"'{path}'")
            yield f"{label}/{path.name}", {columns.text: text, columns.label: label}
