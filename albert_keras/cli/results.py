"""Printer of results: a table for people, or a JSON object for programs."""

import json

import rich.console
import rich.filesize
import rich.table

from albert_keras.runs.reporting import flatten, note
from albert_keras.system.progress import format_value


def print_results(title, results, as_json):
    """Prints results, a dict of JSON values, on standard output.

    None, the result in workers other than the chief, prints nothing.
    """
    if results is None:
        return
    if as_json:
        print(json.dumps(results, ensure_ascii=False))
        return
    table = rich.table.Table(title=title, title_justify="left", show_header=False)
    for name, value in flatten(results):
        if name.endswith("_memory") and value is not None:
            value = rich.filesize.decimal(value)
        # Shapes of a dry run.
        if "batch." in name and isinstance(value, list):
            value = " x ".join(map(str, value))
        if name == "batches":
            value = ", ".join(f"{size} x {length}" for size, length in value)
        table.add_row(name, format_value(value))
    console = rich.console.Console()
    if not console.is_terminal:
        # Do not wrap lines in a file or for another program.
        console.width = 10_000
    console.print(table)


def train(title, run, arguments):
    """Trains a run, or with `--dry-run` measures some steps, and prints the results."""
    if arguments.dry_run:
        note("dry run: nothing is trained or written")
        title, results = "dry run", run.dry_run()
    else:
        results = run.fit()
    print_results(title, results, arguments.json)
