"""A process that cannot write files, by Landlock, which Linux has since 5.13."""

import ctypes
import os
import pathlib
import sys

# System calls, whose numbers are the same on all processors, and constants of
# linux/landlock.h and linux/prctl.h.
_CREATE_RULESET, _RESTRICT_SELF = 444, 446
_VERSION_FLAG = 1
_NO_NEW_PRIVILEGES = 38
# Rights to write files, and to remove and create entries of folders.
_WRITING = 1 << 1 | sum(1 << bit for bit in range(4, 13))
# To shorten files by truncate(2), since version 3.
_TRUNCATING = 1 << 14


def deny_writes():
    """Takes from this process the right to write, create and remove files, for good.

    Files that are open stay writable. Other threads would keep the right: they must be
    started later.

    Returns:
        bool. Whether the system can do it, and there is one thread.
    """
    if not sys.platform.startswith("linux"):
        return False
    if len([*pathlib.Path("/proc/self/task").glob("*")]) != 1:
        return False
    libc = ctypes.CDLL(None)
    version = libc.syscall(_CREATE_RULESET, None, 0, _VERSION_FLAG)
    if version < 1:
        return False
    # All that is handled is denied, because no rule allows it again.
    handled = ctypes.c_uint64(_WRITING | (_TRUNCATING if version >= 3 else 0))
    size = ctypes.sizeof(handled)
    ruleset = libc.syscall(_CREATE_RULESET, ctypes.byref(handled), size, 0)
    if ruleset < 0:
        return False
    try:
        libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        return libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0
    finally:
        os.close(ruleset)
