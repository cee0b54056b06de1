"""Formatter of errors: one line each."""

import errno
import pathlib
import re
import shlex
import traceback

_PACKAGE = pathlib.Path(__file__).resolve().parents[1]

# Enough for a rule, a received value and a remedy.
_LINE_CHARACTERS = 470
# For a library's message, and for the command after it.
_MESSAGE_CHARACTERS = 230
_COMMAND_CHARACTERS = 120

# Nodes of the graph in TensorFlow's messages, which users do not know.
_NODES = re.compile(r"\{\{.*?\}\}|\[\[.*?\]\]|\[Op:\S*\]( name:)?")
_FULL_DISK_REMEDY = ". Make room, and repeat the command, which resumes a run."
_TRACEBACK = "Traceback (most recent call last)"


def one_line(text, num_characters=_LINE_CHARACTERS):
    """Returns a text as one printable line, without the middle if it is long.

    >>> one_line("two  lines, and a very long rest", 24)
    'two lines, a [...]g rest'
    """
    words = " ".join(text.split())
    text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in words)
    if len(text) <= num_characters:
        return text
    half = num_characters // 2
    return f"{text[:half]} [...]{text[len(text) - half + 6 :]}"


def describe_error(error, words):
    """Returns the line about an exception that ends a command.

    An error of this package has a rule, the received value and a remedy. The line about
    any other error also has its type and the command.

    Args:
        error: Exception.
        words: List of str. The command with its arguments.
    """
    if isinstance(error, OSError) and error.strerror:
        # Without its number.
        path = f": '{error.filename}'" if error.filename else ""
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        remedy = _FULL_DISK_REMEDY if is_full else ""
        return one_line(f"{error.strerror}{path}{remedy}")
    message = str(error)
    if type(error).__module__.startswith("tensorflow") or _TRACEBACK in message:
        message = _without_graph(message)
    if message and _is_of_this_package(error):
        return one_line(message)
    message = one_line(message, _MESSAGE_CHARACTERS)
    said = f"{type(error).__name__}: {message}" if message else type(error).__name__
    command = one_line(shlex.join(words), _COMMAND_CHARACTERS)
    return f"{said} (in `{command}`; --traceback shows where)"


def _is_of_this_package(error):
    kinds = (ValueError, FloatingPointError, RuntimeError, ImportError, OSError)
    if not isinstance(error, kinds) or isinstance(error, RecursionError):
        return False
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return _PACKAGE in pathlib.Path(frame.f_code.co_filename).parents


def _without_graph(message):
    """Returns a message of TensorFlow without nodes, tracebacks and repeated lines."""
    lines = [
        _NODES.sub("", line).strip()
        for line in message.splitlines()
        # The lines of a traceback are indented.
        if line[:1].strip() and not line.startswith(_TRACEBACK)
    ]
    return " ".join(dict.fromkeys(lines))
