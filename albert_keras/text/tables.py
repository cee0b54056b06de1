"""Tables of text: TSV, CSV and JSON lines, with the names of their columns or without."""

import csv
import itertools
import pathlib

from albert_keras.text.text_files import check_unicode, read_json_lines, read_lines


def read_table(path, header=None):
    """Yields the rows of a table.

    TSV has no quoting, as GLUE's files; CSV has the usual one, and cells of at most
    131,072 characters. In JSON lines a row is an object; numbers become str, so that
    labels compare alike in all formats, and lists and objects are left out.

    Args:
        path: str or path, with one of the suffixes of `READERS`, and maybe `.gz`.
        header: Sequence of str: the columns of a TSV or CSV file whose first line is a
            row already; `None` if that line names them. A first line that has the last
            of them as a cell names columns all the same, as in CoLA's test file alone.

    Yields:
        Tuples of a line number and a dict from a column to its str, or `None` for one
        that the row does not reach.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the suffix is unknown, the file is not UTF-8 or no table, with its
            line number.
    """
    suffix = pathlib.Path(str(path).removesuffix(".gz")).suffix
    if suffix not in READERS:
        raise ValueError(
            f"The suffix must be one of {', '.join(READERS)}. Received: '{path}'."
        )
    yield from READERS[suffix](path, header)


def _read_tsv(path, header):
    lines = enumerate((line.rstrip("\r\n") for line in read_lines(path)), start=1)
    rows = ((number, line.split("\t")) for number, line in lines if line)
    return _name_cells(path, rows, header)


def _read_csv(path, header):
    reader = csv.reader(read_lines(path), strict=True)
    rows = ((reader.line_num, cells) for cells in reader if cells)
    try:
        yield from _name_cells(path, rows, header)
    except csv.Error as error:
        raise ValueError(
            f"The file must be a table. Received: '{path}', "
            f"line {reader.line_num}: {error}."
        ) from error


def _name_cells(path, rows, header):
    """Yields rows as dicts; without a header the first one names the columns."""
    is_first = True
    for line_number, cells in rows:
        is_header = header is None or (is_first and header[-1] in cells)
        is_first = False
        if is_header:
            header = cells
            continue
        if len(cells) > len(header):
            raise ValueError(
                "A row must have at most as many cells as there are columns. "
                f"Received: '{path}', line {line_number}, with {len(cells)} for "
                f"{', '.join(header)}."
            )
        yield line_number, dict(itertools.zip_longest(header, cells))


def _read_json_lines(path, header):
    for line_number, where, row in read_json_lines(path):
        yield line_number, {name: _as_text(row[name], where) for name in row}


def _as_text(cell, where):
    if cell is None or isinstance(cell, (list, dict)):
        return None
    return check_unicode(str(cell), where, "strict", None)


READERS = {
    ".tsv": _read_tsv,
    ".txt": _read_tsv,
    ".csv": _read_csv,
    ".jsonl": _read_json_lines,
    # CLUE's files are JSON lines under this name.
    ".json": _read_json_lines,
}
