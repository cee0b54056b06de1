"""`albert-keras serve` in a forked process."""

import contextlib
import re
import time

from tests.forked_processes import forked_processes, run_command


@contextlib.contextmanager
def server_process(path, *options):
    """Yields the process, and the address that it prints once it listens."""
    with forked_processes() as start:
        process = start(run_command, "serve", path, "--port", "0", *options)
        for _ in range(600):
            if found := re.search(r"serving http://(\S+),", process.errors_so_far()):
                break
            assert process.poll() is None, process.errors_so_far()
            time.sleep(0.1)
        yield process, found[1]
