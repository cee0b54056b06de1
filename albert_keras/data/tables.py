"""Tables of text: TSV, CSV and JSON lines, with the names of their columns or without."""

import csv
import pathlib

from albert_keras.data.text_files import json_object, read_lines


def read_table(path, header=None):
    """Yields the rows of a table.

    TSV has no quoting, as GLUE's files; CSV has the usual one. In JSON lines a row is an
    object; numbers become str, so that labels compare alike in all formats.

    Args:
        path: str or path, with one of the suffixes of `READERS`.
        header: Sequence of str: the columns of a TSV or CSV file whose first line is a
            row already; `None` if that line names them.

    Yields:
        Tuples of a line number and a dict from a column to its str, or `None` for one
        that the row does not reach.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the suffix is unknown, the file is not UTF-8 or no table, with its
            line number.
    """
    path = pathlib.Path(path)
    if path.suffix not in READERS:
        raise ValueError(
            f"The suffix must be one of {', '.join(READERS)}. Received: '{path}'."
        )
    yield from READERS[path.suffix](path, header)


def _read_tsv(path, header):
    yield from _read_rows(path, header, delimiter="\t", quoting=csv.QUOTE_NONE)


def _read_csv(path, header):
    yield from _read_rows(path, header, strict=True)


def _read_rows(path, header, **dialect):
    reader = csv.DictReader(read_lines(path), header, **dialect)
    try:
        for row in reader:
            # The key of cells without a name; "" is a name, of pandas' index.
            if None in row:
                raise ValueError(
                    "A row must have as many cells as there are columns. "
                    f"Received: '{path}', line {reader.line_num}, with more than "
                    f"{', '.join(map(str, reader.fieldnames))}."
                )
            yield reader.line_num, row
    except csv.Error as error:
        raise ValueError(
            f"The file must be a table. Received: '{path}', "
            f"line {reader.line_num}: {error}."
        ) from error


def _read_json_lines(path, header):
    for line_number, line in enumerate(read_lines(path), start=1):
        if line.strip():
            row = json_object(line, f"'{path}', line {line_number}")
            yield line_number, {name: _as_text(value) for name, value in row.items()}


def _as_text(value):
    return value if value is None else str(value)


READERS = {
    ".tsv": _read_tsv,
    ".txt": _read_tsv,
    ".csv": _read_csv,
    ".jsonl": _read_json_lines,
    # CLUE's files are JSON lines under this name.
    ".json": _read_json_lines,
}
