"""Real processes for tests to kill and interrupt, none of which outlives its test."""

import contextlib
import os
import subprocess
import sys
import time


@contextlib.contextmanager
def started_processes(cwd=None):
    """Yields a function that starts Python on some words, in a process group of its own.

    Variables of its environment are given by name, beside those of this process. All
    that it started are killed in the end.
    """
    processes = []

    def start(*words, **environment):
        process = subprocess.Popen(
            [sys.executable, *map(str, words)],
            cwd=cwd,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def wait_until(holds, process=None, seconds=300):
    """Waits until `holds()`, as long as a process runs, if one is given."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        assert process is None or process.poll() is None, process.communicate()
        time.sleep(0.001)
