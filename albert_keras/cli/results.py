"""Results on standard output: a table for people, or one JSON object for programs."""

import json

import rich.console
import rich.filesize
import rich.table

from albert_keras.runs.reporting import flatten, note
from albert_keras.system.progress import format_value


def print_results(title, results, as_json):
    """Prints results on standard output: a dict, or None in workers that print nothing.

    Its values are str, numbers, or lists and dicts of them. `title` heads the table.
    """
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
        # A file or another program has no right edge.
        console.width = 10_000
    console.print(table)


def print_dry_run(results, as_json):
    """Prints the results of `Trainer.dry_run`, or None in workers that print nothing."""
    if results is None:
        return
    note("dry run: nothing is trained or written")
    if not as_json:
        for measured in results.get("phases", {"1": results}).values():
            _for_people(measured)
    print_results("dry run", results, as_json)


def _for_people(measured):
    """Writes shapes and memory in the results of a dry run for people."""
    measured["batch"] = {
        name: " x ".join(map(str, shape)) for name, shape in measured["batch"].items()
    }
    if "batches" in measured:
        measured["batches"] = ", ".join(f"{n} x {k}" for n, k in measured["batches"])
    for name in ("variables_memory", "peak_memory"):
        if measured[name] is not None:
            measured[name] = rich.filesize.decimal(measured[name])
