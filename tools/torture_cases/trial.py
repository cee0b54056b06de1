"""One command in a child of a process that has imported everything, and its manners.

A child is forked, which takes a tenth of a second; importing TensorFlow takes five. The
parent runs no operation of TensorFlow, because that would start threads, which a child
does not have.
"""

import contextlib
import importlib
import mmap
import os
import pathlib
import re
import resource
import select
import signal
import sys
import tempfile
import time
import traceback
from typing import NamedTuple

# Of one command. On a busy machine it is processor time that counts.
SECONDS = 20
# After it a command hangs, whatever time it had.
SECONDS_UNTIL_STOPPED = 60
# Peak of resident memory: TensorFlow with a tiny model takes half of the constant.
PEAK_BYTES, PEAK_BYTES_PER_BYTE = 2**30, 16
# Address space beyond that of the parent, so that a bomb does not take the machine.
ADDRESS_BYTES = 4 * 2**30
# Of a line on standard error.
MAX_CHARACTERS = 500
# Of processes that outlive their command.
GRACE_SECONDS = 10

_NATIVE_LINE = re.compile(r"[IWEF]\d{4} |WARNING: All log messages|\d{4}-\d\d-\d\d ")
_NO_MEMORY = re.compile(
    r"MemoryError|Unable to allocate|Cannot allocate memory|bad_alloc|\bOOM\b"
)
# Events of `sys.addaudithook` that change the file system.
_CHANGES = {
    *("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink"),
    *("os.truncate", "os.chmod", "ctypes.dlsym"),
}
_NOBODY = 65534


class Kill(NamedTuple):
    """The end of a command: a signal after some seconds, or before a change of files.

    Attributes:
        signal: int.
        seconds: float, or None.
        change: int, or None. The number of the change that is not made.
        of_worker: bool. Whether a process that the command started is killed.
    """

    signal: int
    seconds: float | None = None
    change: int | None = None
    of_worker: bool = False


class Outcome(NamedTuple):
    """What a command did.

    Attributes:
        status: int. Exit status; negative: the number of a signal; None: it was stopped.
        output: str. Standard output.
        errors: str. Standard error.
        seconds: float.
        processor_seconds: float. With its workers'.
        peak_bytes: int. Resident memory.
        num_changes: int. Changes of files by the first process.
        has_survivors: bool. Whether processes outlived it.
    """

    status: int | None
    output: str
    errors: str
    seconds: float
    processor_seconds: float
    peak_bytes: int
    num_changes: int
    has_survivors: bool

    def last_line(self):
        """Returns the last line of standard error."""
        return (self.errors.splitlines() or [""])[-1]


def warm_up():
    """Imports what the commands import."""
    for name in (
        *("analysis", "converters", "export", "models", "pretraining", "runs", "tasks"),
        *("training", "runs.finetuning", "runs.inference", "runs.pretraining"),
        *("export.saved_model", "export.tflite", "pretraining.preparation"),
    ):
        importlib.import_module(f"albert_keras.{name}")


def run(words, folder, kill=None, unprivileged=False):
    """Runs a command in a folder; returns its `Outcome`.

    Args:
        words: List of str. Arguments of `albert-keras`.
        folder: path. Its current directory.
        kill: `Kill`, or None.
        unprivileged: bool. Whether root's command runs as a user without rights, because
            it may be about to write anywhere.
    """
    with contextlib.ExitStack() as stack:
        changes = stack.enter_context(mmap.mmap(-1, 8))
        output, errors = (
            stack.enter_context(tempfile.TemporaryFile()) for _ in range(2)
        )
        start = time.monotonic()
        child = os.fork()
        if not child:
            _become(words, folder, output, errors, changes, kill, unprivileged)
        end = os.pidfd_open(child)
        stack.callback(os.close, end)
        if kill and kill.seconds is not None and not _has_ended(end, kill.seconds):
            _send(kill, child)
        is_stopped = not _has_ended(end, SECONDS_UNTIL_STOPPED)
        if is_stopped:
            os.killpg(child, signal.SIGKILL)
        _, status, usage = os.wait4(child, 0)
        seconds = time.monotonic() - start
        has_survivors = _end_group(child)
        return Outcome(
            None if is_stopped else os.waitstatus_to_exitcode(status),
            *(_text_of(file) for file in (output, errors)),
            seconds,
            usage.ru_utime + usage.ru_stime,
            usage.ru_maxrss * 1024,
            int.from_bytes(changes[:8], sys.byteorder),
            has_survivors,
        )


def complaints(outcome, input_bytes=None):
    """Yields what is wrong with the manners of a command that nobody killed.

    Args:
        outcome: `Outcome`.
        input_bytes: int, or None. Size of its files, if it may take memory in proportion.
    """
    lines = outcome.errors.splitlines()
    if outcome.status is None:
        yield f"was stopped after {SECONDS_UNTIL_STOPPED} s"
    elif outcome.status not in (0, 1, 2):
        yield f"ended with status {outcome.status}"
    if outcome.processor_seconds > SECONDS:
        yield f"took {outcome.processor_seconds:.0f} s of processor time"
    if outcome.has_survivors:
        yield "left processes behind"
    if "Traceback (most recent" in outcome.errors:
        yield f"traceback: {outcome.last_line()[:MAX_CHARACTERS]}"
    longest = max(map(len, lines), default=0)
    if longest >= MAX_CHARACTERS:
        yield f"line of {longest} characters"
    if any(map(_NATIVE_LINE.match, lines)):
        yield "lines of native code"
    if outcome.status in (1, 2):
        ending = lines[-outcome.status :]
        num_errors = sum("error:" in line for line in lines)
        if not ending or "error:" not in ending[0] or num_errors != 1:
            yield f"not one line of error: {outcome.errors[-MAX_CHARACTERS:]!r}"
    if input_bytes is not None:
        if outcome.peak_bytes > PEAK_BYTES + PEAK_BYTES_PER_BYTE * input_bytes:
            yield f"took {outcome.peak_bytes >> 20} MB of memory"
        if _NO_MEMORY.search(outcome.errors):
            yield "asked for more memory than there was"


def _become(words, folder, output, errors, changes, kill, unprivileged):
    """Turns a forked child into the process of a command; does not return."""
    status = 1
    try:
        os.setsid()
        os.chdir(folder)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with open(os.devnull) as nothing:
            os.dup2(nothing.fileno(), 0)
        os.dup2(output.fileno(), 1)
        os.dup2(errors.fileno(), 2)
        sys.stdin = open(0, closefd=False)
        sys.stdout = sys.__stdout__ = open(1, "w", closefd=False)
        sys.stderr = sys.__stderr__ = open(
            2, "w", buffering=1, errors="backslashreplace", closefd=False
        )
        limit = ADDRESS_BYTES + resource.getpagesize() * int(
            pathlib.Path("/proc/self/statm").read_text().split()[0]
        )
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS + 1, SECONDS + 1))
        if unprivileged and os.getuid() == 0:
            os.setgroups([])
            os.setgid(_NOBODY)
            os.setuid(_NOBODY)
        sys.addaudithook(_counter(folder, changes, kill))
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


def _counter(folder, changes, kill):
    """Returns an audit hook that counts changes of files, and kills at one of them."""
    writes = os.O_WRONLY | os.O_RDWR | os.O_CREAT

    def count(event, arguments):
        if event == "open" and isinstance(arguments[2], int):
            is_change = arguments[2] & writes and arguments[0] != os.devnull
        else:
            is_change = event in _CHANGES
        if not is_change:
            return
        number = int.from_bytes(changes[:8], sys.byteorder)
        if kill and kill.change == number:
            os.kill(os.getpid(), kill.signal)
        changes[:8] = (number + 1).to_bytes(8, sys.byteorder)

    return count


def _send(kill, child):
    victims = [child]
    if kill.of_worker:
        children = pathlib.Path(f"/proc/{child}/task/{child}/children")
        # The last one, because the first keeps the command's standard error.
        victims = list(map(int, children.read_text().split()))[-1:] or victims
    with contextlib.suppress(ProcessLookupError):
        os.kill(victims[0], kill.signal)


def _has_ended(descriptor, seconds):
    return bool(select.select([descriptor], [], [], seconds)[0])


def _end_group(group):
    """Waits for the processes that a command started; kills those that stay.

    Returns whether any stayed.
    """
    deadline = time.monotonic() + GRACE_SECONDS
    while time.monotonic() < deadline:
        if not _is_running(group):
            return False
        time.sleep(0.01)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
    return True


def _is_running(group):
    """Returns whether a process of a group has not ended.

    One that has ended may stay as a zombie for seconds, until the first process of the
    system asks for it.
    """
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    for file in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            state, _, its_group = file.read_text().rpartition(")")[2].split()[:3]
            if int(its_group) == group and state not in "ZX":
                return True
    return False


def _text_of(file):
    file.seek(0)
    return file.read().decode("utf-8", "backslashreplace")
