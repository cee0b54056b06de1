"""Reader of labelled texts and pairs of texts: tables, folders of files, and TFDS."""

import collections
import dataclasses
import difflib
import itertools
import pathlib
import re
import unicodedata
from typing import NamedTuple

import numpy as np

from albert_keras.checks import shown
from albert_keras.tasks.reading import is_tfds
from albert_keras.text.tables import as_text, read_table
from albert_keras.text.text_files import UTF_8, read_lines
from albert_keras.text.tfds import read_tfds_examples

_MAX_FLOAT32 = float(np.finfo(np.float32).max)

# Labels in a line of the log.
_SHOWN_LABELS = 20

# A label may be a misspelling of another one if that is this many times as frequent, and
# if their ratio of difflib is at least this: one wrong letter among five or more.
_TIMES_RARER = 20
_LIKE = 0.8


class LabelledTexts(NamedTuple):
    """Columns of rows, in the order of the file.

    Attributes:
        texts: list of str.
        labels: list of str, or of tuples of str if a row may have several; None if
            unknown.
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
        text: str. Column of the text, or of the first of two.
        label: str. Column of the label.
        pair: str, or None for single texts. Column of the second text.
        header: Tuple of str. Columns of TSV and CSV files without a header line. Default
            None: the first line names them.
        label_is_index: bool. Whether labels are the numbers of TFDS's classes instead of
            their names. Default False.
        skips_broken: bool. Whether rows that are incomplete, as in GLUE's QQP, or cannot
            be read are skipped and counted. Default False: they are errors.
        label_separator: str, or None if each row has one label. Separator of the labels
            in a cell, which may be empty. JSON lines may have a list instead.
        optional_pair: str, or None. Column of the second text if `pair` is None and a row
            has this column.
    """

    text: str = "text"
    label: str = "label"
    pair: str | None = None
    header: tuple | None = None
    label_is_index: bool = False
    skips_broken: bool = False
    label_separator: str | None = None
    optional_pair: str | None = None

    def lacks(self, row, name):
        """Returns whether a row has no text or label in a column."""
        cell = row.get(name)
        if name == self.label and self.label_separator:
            return cell is None
        return not isinstance(cell, str) or not cell.strip()

    def labels_of(self, cell):
        """Returns the label in a cell, or a tuple of its different labels."""
        if self.label_separator is None:
            return cell
        cells = cell if isinstance(cell, tuple) else cell.split(self.label_separator)
        labels = (label.strip() for label in cells)
        return tuple(dict.fromkeys(label for label in labels if label))


def read_labelled_texts(source, columns=None, *, needs_labels=True, decoding=UTF_8):
    """Reads texts, or pairs of texts, and labels.

    Args:
        source: str or path: a table (see `read_table`); a folder with a folder of text
            files for each label, as IMDB's `pos` and `neg`; or `"tfds:NAME:SPLIT"`.
        columns: `Columns`. Default None: `Columns()`.
        needs_labels: bool. Whether to read labels. Default True.
        decoding: `Decoding` of the file.

    Returns:
        `LabelledTexts`, at least one row.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the source is not a table, has no row or lacks a column, or a row
            lacks a value; with the number of the row.
    """
    columns = columns or Columns()
    label = columns.label if needs_labels else None
    required = [name for name in (columns.text, label, columns.pair) if name]
    names = (columns.text, label, columns.pair or columns.optional_pair)
    found, num_skipped = read_columns(
        source, columns, required, names[2:], decoding, fills=not needs_labels
    )
    texts, labels, pairs = map(found.get, names)
    labels = labels and [columns.labels_of(cell) for cell in labels]
    return LabelledTexts(texts, labels, pairs, num_skipped)


def read_columns(source, columns, required, optional, decoding, *, fills=False):
    """Reads columns of cells that are complete.

    Args:
        source: As for `read_labelled_texts`.
        columns: `Columns`, which say whether to skip incomplete rows.
        required: Names of columns.
        optional: Names of columns, or None, that all rows must have if one has them.
            Their spelling may differ in case and surrounding spaces.
        decoding: `Decoding` of the file.
        fills: bool. Whether to keep incomplete rows, with empty texts, for predictions,
            which need a row for each row of the file. Default False.

    Returns:
        Tuple of a dict from the names to lists of cells, and the number of skipped rows.
    """
    rows = list(each_row(source, columns, required, decoding))
    # From the names to their spelling in the rows.
    spelling = {name: name for name in required}
    wanted = {name.casefold(): name for name in optional if name}
    for name in dict.fromkeys(itertools.chain.from_iterable(row for _, row in rows)):
        known = wanted.get(name.strip().casefold())
        if known and not all(columns.lacks(row, name) for _, row in rows):
            spelling.setdefault(known, name)
    kept = []
    for place, row in rows:
        missing = [name for name in spelling.values() if columns.lacks(row, name)]
        if missing and not columns.skips_broken:
            raise _missing_error(f"'{source}', {place}", row, missing[0])
        if fills or not missing:
            kept.append({**row, **dict.fromkeys(missing, "")})
    if not kept:
        raise ValueError(
            "There must be at least one whole row. "
            f"Received: '{source}', with {len(rows)} broken ones."
        )
    found = {known: [row[name] for row in kept] for known, name in spelling.items()}
    return found, len(rows) - len(kept)


def each_label(labels):
    """Returns the labels of rows, a label or a tuple of labels each, as one list."""
    rows = ([label] if isinstance(label, str) else label for label in labels)
    return list(itertools.chain.from_iterable(rows))


def label_numbers(labels):
    """Returns labels as finite numbers, float32 `(num_rows,)`."""
    numbers = np.array([_number(label) for label in labels], np.float32)
    wrong = [labels[row] for row in np.flatnonzero(np.isnan(numbers))]
    if wrong:
        raise ValueError(
            f"A label must be a finite number. Received: {', '.join(wrong[:5])}."
        )
    return numbers


def describe_labels(labels):
    """Returns lines for the log: the rows of each label, and warnings of spellings."""
    counts = collections.Counter(labels)
    parts = [f"{shown(label)} {n}" for label, n in counts.most_common(_SHOWN_LABELS)]
    if num_more := len(counts) - len(parts):
        parts.append(f"{num_more} more")
    spellings = collections.defaultdict(list)
    for label in sorted(counts):
        spellings[_unified(label)].append(shown(label))
    warned = [
        f"warning: {', '.join(group)} are different labels; give equal ones one spelling"
        for group in spellings.values()
        if len(group) > 1
    ]
    return [f"labels: {', '.join(parts)}", *warned, *_misspelt(counts)]


def _misspelt(counts):
    """Returns warnings of rare labels that are almost spelled like a frequent one."""
    lines = []
    for rare, count in sorted(counts.items()):
        common = counts.most_common(_SHOWN_LABELS)
        known = [label for label, number in common if number >= _TIMES_RARER * count]
        for label in difflib.get_close_matches(rare, known, 1, _LIKE):
            is_other = _unified(label) != _unified(rare)
            is_near = abs(len(label) - len(rare)) < 2
            # Numbered labels differ in a digit on purpose.
            if is_other and is_near and not re.search(r"\d", rare):
                lines.append(
                    f"warning: the label {rare!r} ({count} of the rows) is almost "
                    f"{label!r} ({counts[label]:,}): correct it, if it is misspelt"
                )
    return lines[:_SHOWN_LABELS]


def _unified(label):
    """Returns a label with case, spaces, Unicode forms and number formats unified."""
    text = " ".join(unicodedata.normalize("NFKC", label).casefold().split())
    number = _number(text)
    return text if np.isnan(number) else str(number)


def _number(label):
    try:
        number = float(label)
    except ValueError:
        return np.nan
    return number if abs(number) <= _MAX_FLOAT32 else np.nan


def each_row(source, columns, wanted, decoding):
    """Yields the place, for errors, and the dict of each row."""
    if is_tfds(source):
        rows = list(read_tfds_examples(str(source), columns.label_is_index))
        # TFDS shuffles the rows. GLUE's server needs the order of its files.
        rows.sort(key=_number_in_file)
        for number, row in rows:
            place = f"row {number}"
            yield place, {n: as_text(v, place, decoding) for n, v in row.items()}
    elif pathlib.Path(source).is_dir():
        yield from _read_folder(pathlib.Path(source), columns, decoding)
    else:
        options = {"decoding": decoding, "skips_broken": columns.skips_broken}
        rows = read_table(source, columns.header, columns=wanted, **options)
        yield from ((f"line {number}", row) for number, row in rows)


def _number_in_file(numbered_row):
    index = numbered_row[1].get("idx")
    return index if isinstance(index, int) else 0


def _read_folder(folder, columns, decoding):
    """Yields the place and row of each text file in a folder's folders of labels."""
    paths = sorted(folder.glob("*/*.txt"))
    if not paths:
        raise ValueError(
            "A folder of rows must hold a folder of .txt files for each label. "
            f"Received: '{folder}', without one."
        )
    for path in paths:
        label = path.parent.name
        # IMDB's folder of unlabelled reviews.
        if label != "unsup":
            text = "".join(read_lines(path, decoding))
            yield f"{label}/{path.name}", {columns.text: text, columns.label: label}


def _missing_error(place, row, missing):
    """Returns the error about a row, a dict, without a text or label in a column."""
    if isinstance(row.get(missing), tuple):
        return ValueError(
            f"Each row must have one `{missing}`. Received: {place}, with a list. For "
            "several labels a row use the task multi-label-classification."
        )
    received = "where it is empty" if missing in row else f"with {', '.join(row)}"
    return ValueError(
        f"Each row must have a `{missing}`. Received: {place}, {received}. Leave such "
        "rows out by `--skip-broken`, or name another column by `--text-column`, "
        "`--pair-column` or `--label-column`."
    )
