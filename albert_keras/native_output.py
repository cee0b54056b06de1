"""Output of C++ code, apart from that of Python code.

Python writes to `sys.stderr`, C++ to file descriptor 2. Where the first is moved to a
copy of the second, this one can lead elsewhere.
"""

import contextlib
import os
import signal
import sys
import tempfile

# Bytes that are printed of the lines kept back, after a crash.
_TAIL_BYTES = 2**15


@contextlib.contextmanager
def kept_back(for_good=False):
    """Keeps C++ lines from standard error, unless the process crashes in the block.

    A crash is an exception that leaves the block, or the end of the process. For the
    latter a second process waits, because C++ code that aborts the first one lets no
    more Python run in it. Call it while there is one thread. With `for_good` the lines
    after the block are kept too, which libraries print while the process ends.
    """
    original = sys.stderr
    with tempfile.TemporaryFile() as file, _printed_after_death(file):
        original.flush()
        stream = _copy_of(original)
        sys.stderr = stream
        os.dup2(file.fileno(), 2)
        try:
            yield
        except Exception:
            os.write(stream.fileno(), _tail(file))
            raise
        finally:
            if not for_good:
                os.dup2(stream.fileno(), 2)
                stream.close()
                sys.stderr = original


def _copy_of(stream):
    copy = os.dup(stream.fileno())
    return os.fdopen(copy, "w", 1, encoding="utf-8", errors="backslashreplace")


@contextlib.contextmanager
def _printed_after_death(file):
    """Prints the end of a file if the process ends in the block."""
    waiting, alive = os.pipe()
    waiter = os.fork()
    if not waiter:
        os.close(alive)
        _wait_for_death(waiting, file)
    os.close(waiting)
    try:
        yield
    finally:
        with contextlib.suppress(BrokenPipeError):  # It may have been killed.
            os.write(alive, b".")
        os.close(alive)
        os.waitpid(waiter, 0)


def _wait_for_death(waiting, file):
    # These are for the other process.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    # Nothing is read once the writer has ended.
    if not os.read(waiting, 1):
        os.write(2, _tail(file))
    os._exit(0)


def _tail(file):
    size = os.fstat(file.fileno()).st_size
    return os.pread(file.fileno(), _TAIL_BYTES, max(0, size - _TAIL_BYTES))
