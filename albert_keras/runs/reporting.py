"""Messages of a run on standard error, and its results by dotted names."""

import sys


def note(message):
    """Prints one line about the progress of a run on standard error."""
    print(message, file=sys.stderr, flush=True)


def warn(message):
    """Prints one line about what the user may not have meant on standard error."""
    note(f"warning: {message}")


def flatten(results, prefix=""):
    """Yields `(dotted name, value)` of nested dicts."""
    for name, value in results.items():
        if isinstance(value, dict):
            yield from flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
