"""What a command prints: a table for people, or one JSON object for programs."""

import json
import sys

import rich.console
import rich.table


def print_results(title, results, as_json):
    """Prints `results` on standard output.

    Args:
        title: str. Heading of the table.
        results: Dict of str, numbers, or lists and dicts of them.
        as_json: bool.
    """
    if as_json:
        print(json.dumps(results, ensure_ascii=False))
        return
    table = rich.table.Table(title=title, title_justify="left", show_header=False)
    for name, value in flatten(results):
        table.add_row(name, f"{value:.4f}" if isinstance(value, float) else str(value))
    rich.console.Console().print(table)


def flatten(results, prefix=""):
    """Yields `(dotted name, value)` of nested dicts."""
    for name, value in results.items():
        if isinstance(value, dict):
            yield from flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def note(message):
    """Prints a line about what goes on, on standard error."""
    print(message, file=sys.stderr, flush=True)
