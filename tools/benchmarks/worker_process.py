"""Worker process of a benchmark for one framework.

A module of contenders calls `serve` when it is started as `MODULE FRAMEWORK WORK`. It
prints the missing modules as a line of JSON, then reads names of measurements, one per
line, and prints each result as a line of JSON. A measurement is prepared at its first
request. The contenders of a framework share one process, and so its memory.
"""

import contextlib
import importlib.util
import json
import os
import sys
import time


def serve(measurements, needs):
    """Answers requests until standard input ends.

    Args:
        measurements: Dict by framework of dicts by name of functions of the work, a dict,
            which return a function that measures.
        needs: Dict by framework of lists of the modules that it needs.
    """
    framework, work = sys.argv[1], json.loads(sys.argv[2])
    # Frameworks size their thread pools by the available cores when they are imported.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: work["threads"]])
    if work.get("device") != "gpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    # The frameworks share the memory of a GPU.
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    answers = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        for answer in _answers(measurements[framework], needs[framework], work):
            print(json.dumps(answer), file=answers, flush=True)


def _answers(measurements, needs, work):
    yield [module for module in needs if importlib.util.find_spec(module) is None]
    prepared = {}
    for name in map(str.strip, sys.stdin):
        if name not in prepared:
            prepared[name] = measurements[name](work)
        yield prepared[name]()


def seconds_of(function, work):
    """Returns the seconds of a call, by the clock of the work."""
    clock = getattr(time, work["clock"])
    start = clock()
    function()
    return clock() - start
