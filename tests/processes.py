"""Processes that tests kill and interrupt, and that end with the test."""

import concurrent.futures
import contextlib
import os
import re
import subprocess
import sys
import time

from albert_keras.system.files import claimed_folder


@contextlib.contextmanager
def started_processes(cwd=None):
    """Yields a function that starts Python with arguments, in a new process group.

    Keyword arguments are added to the environment of this process. All started processes
    are killed at the end.
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


@contextlib.contextmanager
def claimed_by_another(folder):
    """Claims a folder in another thread until the context ends."""
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        claim = claimed_folder(folder)
        executor.submit(claim.__enter__).result()
        try:
            yield
        finally:
            executor.submit(claim.__exit__, None, None, None).result()


# Beginnings of the lines that commands print on standard error.
_OWN_LINES = re.compile(
    r"step \d|\d layers of width|(the task's )?learning rate,? \d|labels: "
    r"|[\d.]+% of the rows|of \d+ held-out texts|training on \d"
    "|(read|sample|tokenize|held_out|shuffle|examples|write) "
    "|Stopped by SIG|albert-keras: "
)


def foreign_lines(standard_error):
    """Returns the lines that are not of the commands."""
    return [x for x in standard_error.splitlines() if not _OWN_LINES.match(x)]


def wait_until(holds, process=None, seconds=300):
    """Waits until `holds()` is true; fails if `process` ends before."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        assert process is None or process.poll() is None, process.communicate()
        time.sleep(0.001)
