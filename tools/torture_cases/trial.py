"""One command in a forked child of a process that has imported everything.

A fork takes a tenth of a second; importing TensorFlow takes five. The parent runs no
operation of TensorFlow, because that would start threads, which a child does not have.
"""

import contextlib
import importlib
import os
import pathlib
import re
import resource
import select
import signal
import sys
import tempfile
import traceback
from typing import NamedTuple

# Of one command: processor time, and time after which it hangs.
SECONDS, SECONDS_UNTIL_STOPPED = 20, 60
# Peak of resident memory: TensorFlow with a tiny model takes half of the constant.
PEAK_BYTES, PEAK_BYTES_PER_BYTE = 2**30, 16
# Address space beyond the parent's, so that a bomb does not take the machine.
ADDRESS_BYTES = 4 * 2**30
# Of a line on standard error.
MAX_CHARACTERS = 500

_NATIVE_LINE = re.compile(r"[IWEF]\d{4} |WARNING: All log messages|\d{4}-\d\d-\d\d ")
_NO_MEMORY = re.compile(
    r"MemoryError|Unable to allocate|Cannot allocate memory|bad_alloc|\bOOM\b"
)
_NOBODY = 65534


class Outcome(NamedTuple):
    """What a command did.

    Attributes:
        status: int. Exit status; negative: the number of a signal; None: it was stopped.
        errors: str. Standard error.
        processor_seconds: float. With its workers'.
        peak_bytes: int. Resident memory.
    """

    status: int | None
    errors: str
    processor_seconds: float
    peak_bytes: int


def warm_up():
    """Imports what the commands import."""
    for name in (
        *("analysis", "converters", "export", "models", "pretraining", "runs", "tasks"),
        *("training", "runs.finetuning", "runs.inference", "runs.pretraining"),
        *("export.saved_model", "export.tflite", "pretraining.preparation"),
    ):
        importlib.import_module(f"albert_keras.{name}")


def run(words, folder, as_nobody=False):
    """Runs a command in a folder; returns its `Outcome`.

    Args:
        words: List of str. Arguments of `albert-keras`.
        folder: path. Its current directory.
        as_nobody: bool. Whether root's command runs as a user without rights.
    """
    with tempfile.TemporaryFile() as errors:
        sys.stdout.flush()
        child = os.fork()
        if not child:
            _become(words, folder, errors, as_nobody)
        end = os.pidfd_open(child)
        is_stopped = not select.select([end], [], [], SECONDS_UNTIL_STOPPED)[0]
        os.close(end)
        # Its workers too.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        _, status, usage = os.wait4(child, 0)
        errors.seek(0)
        return Outcome(
            None if is_stopped else os.waitstatus_to_exitcode(status),
            errors.read().decode("utf-8", "backslashreplace"),
            usage.ru_utime + usage.ru_stime,
            usage.ru_maxrss * 1024,
        )


def complaints(outcome, input_bytes=0):
    """Yields what is wrong with the manners of a command.

    Args:
        outcome: `Outcome`.
        input_bytes: int. Size of its files: it may take memory in proportion.
    """
    lines = outcome.errors.splitlines()
    if outcome.status is None:
        yield f"was stopped after {SECONDS_UNTIL_STOPPED} s"
    elif outcome.status not in (0, 1, 2):
        yield f"ended with status {outcome.status}"
    if outcome.processor_seconds > SECONDS:
        yield f"took {outcome.processor_seconds:.0f} s of processor time"
    if "Traceback (most recent" in outcome.errors:
        yield f"traceback: {lines[-1][:MAX_CHARACTERS]}"
    if max(map(len, lines), default=0) >= MAX_CHARACTERS:
        yield "printed a line that is too long"
    if any(map(_NATIVE_LINE.match, lines)):
        yield "printed lines of native code"
    if outcome.status in (1, 2):
        # Wrong usage has the usage, then the error.
        ending = lines[-outcome.status :]
        num_errors = sum("error:" in line for line in lines)
        if not ending or "error:" not in ending[0] or num_errors != 1:
            yield f"not one line of error: {outcome.errors[-MAX_CHARACTERS:]!r}"
    if outcome.peak_bytes > PEAK_BYTES + PEAK_BYTES_PER_BYTE * input_bytes:
        yield f"took {outcome.peak_bytes >> 20} MB of memory"
    if _NO_MEMORY.search(outcome.errors):
        yield "asked for more memory than there was"


def _become(words, folder, errors, as_nobody):
    """Turns a forked child into the process of a command; does not return."""
    status = 1
    try:
        os.setsid()
        os.chdir(folder)
        with open(os.devnull, "r+") as nothing:
            os.dup2(nothing.fileno(), 0)
            os.dup2(nothing.fileno(), 1)
        os.dup2(errors.fileno(), 2)
        pages = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
        limit = ADDRESS_BYTES + resource.getpagesize() * pages
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS + 1, SECONDS + 1))
        if as_nobody and os.getuid() == 0:
            os.setgroups([])
            os.setgid(_NOBODY)
            os.setuid(_NOBODY)
        from albert_keras import cli

        sys.argv = ["albert-keras", *words]
        status = cli.main()
    except SystemExit as ending:
        status = ending.code
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
