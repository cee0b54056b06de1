"""The cores to use."""

import os


def usable_cores():
    """Returns the number of cores this process may use; all if unknown."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
