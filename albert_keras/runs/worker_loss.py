"""What a worker says when another one is gone: one line, and status 1."""

import atexit
import contextlib
import ctypes
import os
import pathlib
import signal
import sys
import threading
import time

# What the errors of collectives have in common, on TensorFlow and on JAX.
SIGNS = (
    "UNAVAILABLE",
    "Collective ops",
    "Gloo",
    "NCCL",
    "coordination service",
    "by peer",
)

SECONDS_TO_END = 10


@contextlib.contextmanager
def workers_watched(strategy, folder):
    """Context manager that turns the loss of another worker into an error of one line.

    What the C++ code of TensorFlow and JAX writes on the standard streams from here on
    goes to `workers/<index>.log` in the run. With one worker nothing is done.

    Args:
        strategy: `Strategy`.
        folder: str or path of the run.

    Raises:
        RuntimeError: If a collective operation failed because a worker is gone.
    """
    if strategy.num_workers == 1:
        yield
        return
    log = pathlib.Path(folder, "workers", f"{strategy.worker}.log")
    _keep_native_logs(log)
    advice = (
        "A worker is gone, and all must end. Repeat the command on all of them: the run "
        f"goes on from its last checkpoint. See {log}."
    )
    error_is_told = threading.Event()
    if strategy.name == "data_parallel":
        _end_on_abort(f"albert-keras: error: {advice}\n", error_is_told)
    try:
        yield
        strategy.wait_for_workers()
    except BaseException as error:
        error_is_told.set()
        status = error.code if isinstance(error, SystemExit) else 1
        atexit.register(_leave, status)
        reasons = [
            line
            for line in str(error).splitlines()
            if any(sign in line for sign in SIGNS)
        ]
        if not reasons:
            raise
        raise RuntimeError(f"{advice} Received: {reasons[0]}") from error


def _leave(status):
    """Ends this process, which else would wait for workers that wait for it."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _keep_native_logs(path):
    """Sends what C++ writes on the standard streams to a file; Python's goes on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            stream.flush()
            number = stream.fileno()
            copy = os.fdopen(os.dup(number), "w", buffering=1, encoding="utf-8")
            setattr(sys, name, copy)
            os.dup2(file.fileno(), number)


def _end_on_abort(line, error_is_told):
    """Ends this process in one line where C++ code would abort it.

    JAX's coordination service calls `abort` in a thread of its own when a process is
    lost, with a trace of the stack, and has no other way to tell.

    Args:
        line: str. What to write on standard error.
        error_is_told: `threading.Event`. Set once the main thread has found an error by
            itself: it writes a line of its own, and ends the process.
    """
    error_stream = sys.stderr.fileno()

    @ctypes.CFUNCTYPE(None, ctypes.c_int)
    def end(number):
        if error_is_told.is_set():
            time.sleep(SECONDS_TO_END)
        else:
            os.write(error_stream, line.encode())
        os._exit(1)

    # Kept for as long as C may call it. Python's own handlers would wait for the main
    # thread, which never comes back from a collective operation.
    _end_on_abort.handler = end
    ctypes.CDLL(None).signal(int(signal.SIGABRT), end)
