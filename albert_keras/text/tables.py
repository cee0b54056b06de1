"""Reader of tables: TSV, CSV and JSON lines."""

import csv
import itertools
import pathlib

from albert_keras.text.text_files import check_unicode, read_json_lines, read_lines


def read_table(path, header=None):
    """Yields the rows of a table.

    TSV has no quoting, as in GLUE's files; CSV has quoting, and cells of at most
    131,072 characters. In JSON lines a row is an object; numbers become str, and lists
    and objects None.

    Args:
        path: str or path, with one of the suffixes of `TABLE_READERS`, optionally
            followed by `.gz`.
        header: Sequence of str, or None. Column names of a TSV or CSV file without a
            header line. A first line with the last of these names is a header anyway,
            as in CoLA's test file.

    Yields:
        Tuples of the line number and a dict from column to str, or None for missing
        cells.

    Raises:
        ValueError: If the suffix is unknown, or the file is not UTF-8 or not a table,
            with the line number.
    """
    suffix = pathlib.Path(str(path).removesuffix(".gz")).suffix
    if suffix not in TABLE_READERS:
        raise ValueError(
            f"The suffix must be one of {', '.join(TABLE_READERS)}. Received: '{path}'."
        )
    yield from TABLE_READERS[suffix](path, header)


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
    """Yields rows as dicts; without `header` the first row is the header."""
    for index, (line_number, cells) in enumerate(rows):
        if header is None or (index == 0 and header[-1] in cells):
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


TABLE_READERS = {
    ".tsv": _read_tsv,
    ".txt": _read_tsv,
    ".csv": _read_csv,
    ".jsonl": _read_json_lines,
    # CLUE's files are JSON lines with this suffix.
    ".json": _read_json_lines,
}
