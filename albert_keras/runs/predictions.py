"""Writer of predictions: JSON lines, tables, and the formats of benchmarks."""

import csv
import itertools
import json
import pathlib

from albert_keras.runs.reporting import flatten
from albert_keras.system.files import atomic_path, check_replaceable_file
from albert_keras.tasks.text_classification.reading import Columns
from albert_keras.text.tables import read_table
from albert_keras.text.text_files import read_json_lines

_TEXTS, _ANSWERS = ("text", "text_pair"), ("label", "answer", "score")
# Lists that have no column in tables.
_DETAILS = [[name, list] for name in ("logits", "probabilities", "candidates", "masks")]


def write_predictions(path, task, prepared, predictions, source=None):
    """Writes predictions to a file, in the format that its name tells.

    If the task has a benchmark's server or script with files of such a name, the file is
    for it. Otherwise `.jsonl` has the dicts of `FinetuningTask.describe`. `.csv` and
    `.tsv` have their texts and numbers, in columns such as `probabilities.good`, and
    lists as JSON, except lists of numbers and of candidates. TSV has no quoting: tabs and
    line breaks in texts become spaces.

    If the rows are from a table, `source`, its columns come first, as they are spelled
    there, then `prediction`, `probability` and others. A name that the table has already
    becomes `predicted_NAME`.

    Raises:
        ValueError: If the name has none of these formats.
    """
    check_output(path, task)
    path = pathlib.Path(path)
    if task.has_submission(path):
        task.write_submission(path, prepared, predictions)
        return
    rows = task.describe(prepared, predictions)
    inputs = _input_rows(task, source)
    if inputs is not None:
        rows = [_beside(*pair) for pair in zip(inputs, rows, strict=True)]
    write_table(path, rows)


def mistakes_of(task, prepared, predictions):
    """Returns the labelled rows with a wrong prediction, the most confident first.

    Returns:
        List of dicts: the texts, `label`, `prediction`, and `probability` if the task has
        it. Empty for a task without `truths`.
    """
    rows, found = task.describe(prepared, predictions), []
    for row, truths in zip(rows, task.truths(prepared.rows), strict=False):
        texts, answer = {n: row[n] for n in _TEXTS if n in row}, _answer_of(row)
        if answer["prediction"] not in truths:
            found.append({**texts, "label": truths[0], **answer})
    return sorted(found, key=lambda row: -row.get("probability", 0))


def write_table(path, rows):
    """Writes dicts as the rows of a `.csv`, `.tsv` or `.jsonl` file."""
    with (
        atomic_path(path) as temporary,
        temporary.open("w", encoding="utf-8", newline="") as file,
    ):
        TABLE_WRITERS[pathlib.Path(path).suffix](file, rows)


def _input_rows(task, source):
    """Reads the rows of a table as dicts; returns `None` for another source."""
    suffix = pathlib.Path(str(source).removesuffix(".gz")).suffix
    if suffix not in getattr(task, "tables", ()):
        return None
    columns = getattr(task, "columns", Columns())
    options = {"decoding": task.decoding, "skips_broken": columns.skips_broken}
    if suffix.startswith(".json"):
        return [row for *_, row in read_json_lines(source, **options)]
    return [row for _, row in read_table(source, columns.header, **options)]


def _beside(given, row):
    """Returns a row of a table with the columns of its prediction."""
    known = {"id", *_ANSWERS, *(n for n in _TEXTS if row.get(n) in given.values())}
    added = {name: value for name, value in row.items() if name not in known}
    merged = dict(given)
    for name, value in (_answer_of(row) | added).items():
        while name in given:
            name = f"predicted_{name}"
        merged[name] = value
    return merged


def _answer_of(row):
    """Returns `prediction` and the greatest `probability` of a described row."""
    shares = row.get("probabilities", [])
    shares = shares.values() if isinstance(shares, dict) else shares
    answer = {"prediction": next(row[name] for name in _ANSWERS if name in row)}
    return {**answer, "probability": max(shares)} if shares else answer


def check_output(path, task):
    """Raises a ValueError if predictions of a task cannot be written to a path."""
    path = pathlib.Path(path)
    if not (task.has_submission(path) or path.suffix in TABLE_WRITERS):
        raise ValueError(
            f"A file of predictions must end in {', '.join(TABLE_WRITERS)}, or be of the "
            f"task's own format, if it has one. Received: '{path}'."
        )
    if path.suffix in TABLE_WRITERS:
        check_replaceable_file(path)


def _write_json_lines(file, rows):
    for row in rows:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _write_csv(file, rows):
    # All texts have quotes, because `csv` would not quote a lone "\r".
    options = {"quoting": csv.QUOTE_NONNUMERIC, "lineterminator": "\n"}
    _write_cells(csv.writer(file, **options), rows, {})


def _write_tsv(file, rows):
    options = {"quoting": csv.QUOTE_NONE, "quotechar": None, "lineterminator": "\n"}
    # TSV has no quoting.
    marks = str.maketrans("\t\r\n", "   ")
    _write_cells(csv.writer(file, delimiter="\t", **options), rows, marks)


def _write_cells(writer, rows, marks):
    """Writes dicts as rows of a table, and replaces `marks` in their texts."""

    def as_cell(value):
        if isinstance(value, list):
            return json.dumps(value, ensure_ascii=False)
        return value.translate(marks) if isinstance(value, str) else value

    rows = [
        {n: as_cell(v) for n, v in flatten(row) if [n, type(v)] not in _DETAILS}
        for row in rows
    ]
    # JSON lines may have different keys.
    names = dict.fromkeys(itertools.chain(*rows))
    if rows:
        writer.writerow(names)
    writer.writerows([row.get(name, "") for name in names] for row in rows)


TABLE_WRITERS = {".jsonl": _write_json_lines, ".csv": _write_csv, ".tsv": _write_tsv}
