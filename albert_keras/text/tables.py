"""Readers of tables: TSV, CSV and JSON lines."""

import collections
import csv
import itertools
import pathlib
import re
import warnings

from albert_keras.text.text_files import (
    MAX_BYTES,
    UTF_8,
    check_unicode,
    read_json_lines,
    read_lines,
)

DELIMITERS = (",", ";", "\t")

# A cell as programs quote it: with quotes around it, and doubled quotes inside.
_QUOTED = re.compile(r'"([^"]|"")+"')

# Rules that keep a cell together, for errors.
_NO_TABS = "cells of TSV hold no tabs, since it has no quoting"
_QUOTES = "in CSV a cell that holds the delimiter has quotes around it"


def read_table(path, header=None, *, columns=(), decoding=UTF_8, skips_broken=False):
    """Yields the rows of a table.

    CSV has quoting. Its delimiter is the comma, semicolon or tab that makes most cells of
    the header. TSV has tabs and, as in GLUE's files, no quoting. In JSON lines a row is
    an object; numbers become str, and lists of strings or numbers tuples of str.

    Args:
        path: str or path, with one of the suffixes of `TABLE_READERS`, optionally
            followed by `.gz`.
        header: Sequence of str, or `None`. Column names of a TSV or CSV file without a
            header line. A first line with the last of these names is a header anyway,
            as in CoLA's test file.
        columns: Sequence of str. Columns that the table must have, in a spelling that may
            differ in case and surrounding spaces.
        decoding: `Decoding` of the file.
        skips_broken: bool. Whether a broken row is a row without values instead of an
            error: a row with more cells than columns, a row with a quote that is not
            closed (only its first line), or a line that is not a JSON object.

    Yields:
        Tuples of the number of the line in which a row begins, and a dict from column to
        str, or `None` for missing cells and other values of JSON.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the suffix is unknown, the header lacks a column, or the file is
            not text or not a table; with the line number.
    """
    suffix = pathlib.Path(str(path).removesuffix(".gz")).suffix
    if suffix not in TABLE_READERS:
        raise ValueError(
            f"The suffix must be one of {', '.join(TABLE_READERS)}. Received: '{path}'."
        )
    yield from TABLE_READERS[suffix](path, header, columns, decoding, skips_broken)


def _read_tsv(path, header, columns, decoding, skips_broken):
    lines = (line.rstrip("\r\n") for line in _lines_of(path, decoding))
    rows = ((n, line.split("\t")) for n, line in enumerate(lines, start=1) if line)
    # Counts of cells with quotes, by whether a program seems to have quoted them.
    are_quoted = collections.Counter()
    for number, row in _name_cells(path, rows, header, columns, skips_broken, _NO_TABS):
        cells = (cell for cell in row.values() if cell and '"' in cell)
        are_quoted.update(bool(_QUOTED.fullmatch(cell)) for cell in cells)
        yield number, row
    if are_quoted[True] and not are_quoted[False]:
        warnings.warn(
            "TSV is read without quoting, so that the quotes around "
            f"{are_quoted[True]} cells of '{path}' are part of them. Save it as CSV if "
            "they are not.",
            stacklevel=2,
        )


def _read_csv(path, header, columns, decoding, skips_broken):
    # Python's default limit is 131,072 characters.
    csv.field_size_limit(MAX_BYTES)
    lines, ahead = itertools.tee(_lines_of(path, decoding))
    first = next(filter(str.strip, ahead), "")
    del ahead  # It would keep all lines.
    delimiter = _delimiter_of(first) if first and header is None else ","
    rows = _csv_rows(path, lines, delimiter, skips_broken)
    yield from _name_cells(path, rows, header, columns, skips_broken, _QUOTES)


def _csv_rows(path, lines, delimiter, skips_broken):
    """Yields the number of the first line and the cells of each row.

    A broken row is an error, or has no cells; the lines after its first are read again.
    """
    rest = lines = [*lines] if skips_broken else lines
    begin = 0
    while True:
        reader, num_before = csv.reader(rest, delimiter=delimiter, strict=True), begin
        try:
            for cells in reader:
                if cells:
                    yield begin + 1, cells
                begin = num_before + reader.line_num
            return
        except csv.Error as error:
            if not skips_broken:
                raise ValueError(
                    "A table must have one kind of line ends, and closed quotes. "
                    f"Received: '{path}', line {begin + 1}, a row whose end is not found "
                    f"({error}). Repair it, or use `--skip-broken`."
                ) from error
            yield begin + 1, ()
            begin += 1
            rest = lines[begin:]


def _lines_of(path, decoding):
    """Yields the lines of a table, and checks that they are text."""
    for number, line in enumerate(read_lines(path, decoding), start=1):
        if "\0" in line:
            raise ValueError(
                "A table must be text, without NUL characters. "
                f"Received: '{path}', with one in line {number}. Give its encoding "
                "(`--encoding utf-16` or utf-16-le), or save it in UTF-8."
            )
        yield line


def _delimiter_of(header_line):
    """Returns the delimiter that makes most cells of a header, by default a comma."""

    def num_cells(delimiter):
        return len(next(csv.reader(header_line.splitlines(True), delimiter=delimiter)))

    return max(DELIMITERS, key=num_cells)


def _name_cells(path, rows, header, columns, skips_broken, rule):
    """Yields rows as dicts; without `header` the first row is the header."""
    for index, (line_number, cells) in enumerate(rows):
        if header is None or (index == 0 and header[-1] in cells):
            header = _spelt_as(columns, cells)
            _check_header(path, line_number, header, columns)
            continue
        if len(cells) > len(header):
            if not skips_broken:
                raise ValueError(
                    "A row must have at most as many cells as there are columns; "
                    f"{rule}. Received: '{path}', line {line_number}, with {len(cells)} "
                    f"for {', '.join(header)}. Repair it, or use `--skip-broken`."
                )
            cells = ()
        yield line_number, dict(itertools.zip_longest(header, cells))


def _spelt_as(columns, names):
    """Returns names in the spelling of `columns`, if they are among these.

    >>> _spelt_as(["text", "label"], ["ID", " Text", "label"])
    ['ID', 'text', 'label']
    """
    unified = [name.strip().casefold() for name in names]
    counts = collections.Counter(unified)
    spellings = {
        key: column
        for column in columns
        if column not in names and counts[key := column.strip().casefold()] == 1
    }
    return [spellings.get(key, name) for key, name in zip(unified, names, strict=True)]


def _check_header(path, line_number, header, columns):
    if not set(columns) <= set(header):
        others = ", `--pair-column` and `--label-column`" if len(columns) > 1 else ""
        raise ValueError(
            f"The columns must include {', '.join(f'`{name}`' for name in columns)}. "
            f"Received: '{path}', whose header, line {line_number}, has "
            f"{', '.join(header)}. Name yours by `--text-column`{others}, in Python by "
            "the task's `with_columns`."
        )


def _read_json_lines(path, header, columns, decoding, skips_broken):
    for line_number, where, row in read_json_lines(path, decoding, skips_broken):
        names = row if row.keys() >= set(columns) else _spelt_as(columns, [*row])
        values = (as_text(value, where, decoding) for value in row.values())
        yield line_number, dict(zip(names, values, strict=True))


def as_text(value, where, decoding):
    """Returns a JSON value as `read_table` does; `where` is its place, for errors."""
    if isinstance(value, list):
        texts = tuple(as_text(item, where, decoding) for item in value)
        return None if any(not isinstance(text, str) for text in texts) else texts
    if value is None or isinstance(value, dict):
        return None
    return check_unicode(str(value), where, decoding.errors, collections.Counter())


TABLE_READERS = {
    ".tsv": _read_tsv,
    ".txt": _read_tsv,
    ".csv": _read_csv,
    ".jsonl": _read_json_lines,
    # CLUE's JSON lines have this suffix.
    ".json": _read_json_lines,
}
