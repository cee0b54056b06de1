"""Ends all workers of a run when one of them is lost, with one line and status 1.

A lost worker shows as one of two events in the others:

1. A collective operation fails with an exception, on TensorFlow and JAX. The process is
then ended without its usual exit, which would wait for workers that wait for it. 2. JAX's
coordination service calls `abort` in a thread of its own. A handler in C can catch that;
one in Python cannot, since the main thread never returns from a collective operation.

The stack traces that C++ libraries print in both cases go to a file in the run.
"""

import atexit
import contextlib
import ctypes
import os
import pathlib
import signal
import sys
import threading
import time

# Parts of the errors of collective operations on TensorFlow and JAX.
_SIGNS = (
    *("UNAVAILABLE", "Collective ops", "Gloo", "NCCL", "coordination service"),
    "by peer",
)

_SECONDS_TO_END = 10


@contextlib.contextmanager
def workers_watched(strategy, folder):
    """Context manager that turns the loss of another worker into an error of one line.

    With one worker it does nothing. Native logs go to `workers/<index>.log` in the run's
    folder.

    Raises:
        RuntimeError: If a collective operation failed because a worker is lost.
    """
    if strategy.num_workers == 1:
        yield
        return
    log = pathlib.Path(folder, "workers", f"{strategy.worker}.log")
    _send_native_output_to(log)
    advice = (
        "A worker is gone, and all must end. Repeat the command on all of them: the run "
        f"resumes from its last checkpoint. See {log}."
    )
    has_raised = threading.Event()
    if strategy.name == "data_parallel":
        _end_on_abort(f"albert-keras: error: {advice}\n", has_raised)
    try:
        yield
        strategy.wait_for_workers()
    except BaseException as error:
        has_raised.set()
        # After the command line has printed the error.
        atexit.register(_end, error.code if isinstance(error, SystemExit) else 1)
        lines = str(error).splitlines()
        reasons = [line for line in lines if any(sign in line for sign in _SIGNS)]
        if not reasons:
            raise
        raise RuntimeError(f"{advice} Received: {reasons[0]}") from error


def _end(status):
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _end_on_abort(line, has_raised):
    """Prints a line and ends the process where C++ code would abort it.

    If the main thread has an exception already, it prints its own line and ends first.
    """
    error_stream = sys.stderr.fileno()

    @ctypes.CFUNCTYPE(None, ctypes.c_int)
    def end(number):
        if has_raised.is_set():
            time.sleep(_SECONDS_TO_END)
        else:
            os.write(error_stream, line.encode())
        os._exit(1)

    # C may call it at any time: it must not be collected.
    _end_on_abort.handler = end
    ctypes.CDLL(None).signal(int(signal.SIGABRT), end)


def _send_native_output_to(path):
    """Appends the output of C++ code to a file from now on; Python's goes to a copy."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        for name, descriptor in (("stdout", 1), ("stderr", 2)):
            stream = getattr(sys, name)
            stream.flush()
            copy = os.dup(stream.fileno())
            options = {"encoding": "utf-8", "errors": "backslashreplace"}
            setattr(sys, name, os.fdopen(copy, "w", 1, **options))
            os.dup2(file.fileno(), descriptor)
