"""Messages on standard error, and nested results as flat ones."""

import sys


def note(message):
    """Prints a line on standard error."""
    print(message, file=sys.stderr, flush=True)


def warn(message):
    """Prints a warning on standard error."""
    note(f"warning: {message}")


def flatten(results, prefix=""):
    """Yields a dotted name and the value for each leaf of nested dicts."""
    for name, value in results.items():
        if isinstance(value, dict):
            yield from flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
