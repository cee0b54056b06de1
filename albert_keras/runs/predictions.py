"""Files of predictions: JSON lines, tables, and the formats of tasks."""

import csv
import json
import pathlib

from albert_keras.files import atomic_path, check_replaceable_file
from albert_keras.runs.reporting import flatten


def write_predictions(path, task, prepared, predictions):
    """Writes predictions to a file, in the format that its name says.

    It is that of the task's server or script, if the task has one for such a name; else
    `.jsonl` has the dicts of `FinetuningTask.describe`, and `.csv` and `.tsv` their str
    and numbers, with columns such as `probabilities.good`. In TSV, which has no quoting,
    tabs and line breaks of texts become spaces.

    Raises:
        ValueError: If the name says none of these formats.
    """
    check_output(path, task)
    path = pathlib.Path(path)
    if task.has_submission(path):
        task.write_submission(path, prepared, predictions)
        return
    rows = task.describe(prepared, predictions)
    with (
        atomic_path(path) as temporary,
        temporary.open("w", encoding="utf-8", newline="") as file,
    ):
        TABLE_WRITERS[path.suffix](file, rows)


def check_output(path, task):
    """Raises a ValueError if predictions of a task cannot be written to a path."""
    path = pathlib.Path(path)
    if not (task.has_submission(path) or path.suffix in TABLE_WRITERS):
        raise ValueError(
            "The name of a file of predictions must say its format. "
            f"Received: '{path}'. Give a name that ends in {', '.join(TABLE_WRITERS)}, "
            "or one of the task's own format, if it has one."
        )
    if path.suffix in TABLE_WRITERS:
        check_replaceable_file(path)


def _write_json_lines(file, rows):
    for row in rows:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _write_csv(file, rows):
    # All texts in quotes: `csv` would not quote a lone "\r".
    options = {"quoting": csv.QUOTE_NONNUMERIC, "lineterminator": "\n"}
    _write_cells(csv.writer(file, **options), rows)


def _write_tsv(file, rows):
    options = {"quoting": csv.QUOTE_NONE, "quotechar": None, "lineterminator": "\n"}
    rows = [{name: _in_one_cell(value) for name, value in row.items()} for row in rows]
    _write_cells(csv.writer(file, delimiter="\t", **options), rows)


def _in_one_cell(value):
    if not isinstance(value, str):
        return value
    return value.translate(str.maketrans("\t\r\n", "   "))


def _write_cells(writer, rows):
    rows = [
        {name: v for name, v in flatten(row) if not isinstance(v, list)} for row in rows
    ]
    if rows:
        writer.writerow(rows[0])
    writer.writerows(row.values() for row in rows)


TABLE_WRITERS = {
    ".jsonl": _write_json_lines,
    ".csv": _write_csv,
    ".tsv": _write_tsv,
}
