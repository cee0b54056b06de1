"""Printer of results: a table for people, or a JSON object for programs."""

import json

import rich.console
import rich.filesize
import rich.table

from albert_keras.runs.reporting import flatten, note
from albert_keras.system.progress import format_value


def print_results(title, results, as_json):
    """Prints results, a dict of JSON values, on standard output. None prints nothing."""
    if results is None:
        return
    if as_json:
        print(json.dumps(results, ensure_ascii=False))
        return
    table = rich.table.Table(title=title, title_justify="left", show_header=False)
    for name, value in flatten(results):
        table.add_row(name, format_value(value))
    console = rich.console.Console()
    if not console.is_terminal:
        # Do not wrap lines in a file or for another program.
        console.width = 10_000
    console.print(table)


def train(title, run, arguments):
    """Trains a run, or with `--dry-run` measures some steps, and prints the results."""
    if not arguments.dry_run:
        print_results(title, run.fit(), arguments.json)
        return
    # None in workers other than the chief, which print nothing.
    results = run.dry_run()
    if results is None:
        return
    note("dry run: nothing is trained or written")
    if not arguments.json:
        for measured in results.get("phases", {"1": results}).values():
            _format_sizes(measured)
    print_results("dry run", results, arguments.json)


def _format_sizes(measured):
    """Replaces shapes and memory in the results of a dry run by readable text."""
    measured["batch"] = {
        name: " x ".join(map(str, shape)) for name, shape in measured["batch"].items()
    }
    if "batches" in measured:
        measured["batches"] = ", ".join(f"{n} x {k}" for n, k in measured["batches"])
    for name in ("variables_memory", "peak_memory"):
        if measured[name] is not None:
            measured[name] = rich.filesize.decimal(measured[name])
