"""Processes of their own for modules that run as programs, and the cores to use."""

import os
import sys


def python_program(module, *arguments):
    """Returns the arguments of `subprocess.Popen` for a module run as a program.

    It finds modules where this process does. It sees no GPU, whose memory TensorFlow
    would reserve.

    >>> python_program("albert_keras", "--help")["args"][1:]
    ['-P', '-m', 'albert_keras', '--help']
    """
    path = os.pathsep.join(map(os.path.abspath, sys.path))
    return {
        # -P: not in the working folder, where a file may have the name of a module.
        "args": [sys.executable, "-P", "-m", module, *map(str, arguments)],
        "env": {**os.environ, "PYTHONPATH": path, "CUDA_VISIBLE_DEVICES": "-1"},
    }


def usable_cores():
    """Returns the number of cores this process may use; all if unknown."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
