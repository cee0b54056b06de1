"""Standard error without the lines of TensorFlow and other libraries."""

import contextlib
import logging
import os
import pathlib
import sys
import threading
import warnings

from albert_keras import native_output

_PACKAGE = pathlib.Path(__file__).resolve().parents[1]


@contextlib.contextmanager
def quiet(for_good):
    """Keeps warnings, logs and C++ lines of other libraries from standard error.

    C++ lines only in a process of the command's own: neither in a notebook, nor in one
    with several threads, which cannot be forked safely. `for_good` is of `kept_back`.
    """
    is_own = sys.stderr is not None and sys.stderr is sys.__stderr__
    can_fork = hasattr(os, "fork") and threading.active_count() == 1
    with contextlib.ExitStack() as stack:
        stack.enter_context(_warnings_of_this_package())
        stack.enter_context(_no_logs())
        if is_own and can_fork:
            stack.enter_context(native_output.kept_back(for_good))
        yield


@contextlib.contextmanager
def _warnings_of_this_package():
    show = warnings.showwarning

    def show_own(message, category, filename, *origin, **options):
        if _PACKAGE in pathlib.Path(filename).parents:
            show(message, category, filename, *origin, **options)

    warnings.showwarning = show_own
    try:
        yield
    finally:
        warnings.showwarning = show


@contextlib.contextmanager
def _no_logs():
    level = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(level)
