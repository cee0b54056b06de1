"""Harness of the benchmarks: contenders in turn, each in a process of its own.

A benchmark is a module with `CONTENDERS`, a dict of `Contender` by name. All of them do
the same work. In every round each contender is measured while the others wait, so that a
busy machine slows all of them. Factors are computed within a round; medians over the
rounds are printed, with the peak memory of each process.
"""

import importlib
import importlib.util
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time
import types
from collections.abc import Callable, Mapping
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from albert_keras.system.processor import ENVIRONMENT  # noqa: E402
from tools.parser import new_parser  # noqa: E402


class Contender(NamedTuple):
    """A measurement.

    Attributes:
        prepare: Function of the work, a dict. It warms up, and returns a function without
            arguments that measures: it returns a dict of seconds by case.
        needs: Tuple of str. Modules without which the contender is skipped.
        environment: Dict of environment variables of its process.
    """

    prepare: Callable
    needs: tuple = ()
    environment: Mapping = types.MappingProxyType({})


def make_parser(description, contenders):
    """Returns a parser with the options that all benchmarks share.

    Args:
        description: str. The docstring of the benchmark.
        contenders: Dict of `Contender` by name, the baseline first.
    """
    parser = new_parser(description)
    add = parser.add_argument
    about = f"default: all; compared with the first one: {', '.join(contenders)}"
    add("--only", nargs="+", metavar="NAME", choices=contenders, help=about)
    add("--rounds", type=int, default=5)
    add("--threads", type=int, default=1, help="processor cores of each contender")
    about = "measure that of all threads, on a busy machine (default: wall time)"
    add("--processor-time", action="store_true", help=about)
    add("--json", action="store_true", help="print the results as JSON")
    return parser


def compare(file, contenders, arguments, work, unit="ms", scale=1000):
    """Measures contenders in turn, and prints their medians, factors and memory.

    Args:
        file: str. The path of the benchmark's module.
        contenders: Its `CONTENDERS`.
        arguments: What the parser of `make_parser` returns.
        work: Dict for all contenders, which JSON can hold. It gets the arguments too,
            and `device` and `clock`.
        unit: str. Unit of the printed numbers.
        scale: Number of these units in the seconds that a contender returns.
    """
    clock = "process_time" if arguments.processor_time else "perf_counter"
    work = {"device": "cpu", **vars(arguments), "clock": clock, **work}
    workers = {}
    try:
        for name in arguments.only or contenders:
            needs = contenders[name].needs
            missing = [m for m in needs if importlib.util.find_spec(m) is None]
            if missing:
                print(f"{name} is skipped, without {missing}", file=sys.stderr)
            else:
                module = f"tools.benchmarks.{pathlib.Path(file).stem}"
                workers[name] = Worker(name, contenders[name], module, work)
        if not workers:
            sys.exit("No contender can be measured.")
        measurements = {name: worker.measure for name, worker in workers.items()}
        rounds = []
        for results in measure_in_turn(measurements, arguments.rounds):
            rounds.append(results)
            print(f"round {len(rounds)} of {arguments.rounds}", file=sys.stderr)
    finally:
        for worker in workers.values():
            worker.stop()
    cases = summarize(rounds, scale)
    gibibytes = {name: worker.gibibytes for name, worker in workers.items()}
    if arguments.json:
        print(json.dumps({"unit": unit, "cases": cases, "gibibytes": gibibytes}))
    else:
        print("\n".join(table(cases, gibibytes, unit)))


class Worker:
    """The process of a contender, in which `serve` answers."""

    def __init__(self, name, contender, module, work):
        self.name = name
        path = filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])
        environment = {
            "TF_CPP_MIN_LOG_LEVEL": "3",
            **ENVIRONMENT,
            **os.environ,
            "KERAS_BACKEND": "tensorflow",
            "PYTHONPATH": os.pathsep.join(path),
            # The contenders share the memory of a GPU.
            "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
            **({} if work["device"] == "gpu" else {"CUDA_VISIBLE_DEVICES": ""}),
            **contender.environment,
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", __name__, module, name, json.dumps(work)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        # One prepares at a time.
        self.measure()

    def measure(self):
        """Returns the seconds of the contender by case; keeps its peak memory."""
        print(file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"The process of {self.name} ended; its error is above.")
        seconds, self.gibibytes = json.loads(line)
        return seconds

    def stop(self):
        """Ends the process."""
        self.process.communicate()


def serve(module, name, work):
    """Prepares a contender, and measures it for each line of standard input."""
    # Frameworks size their thread pools by the available cores when they are imported.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: work["threads"]])
    # What libraries print goes to standard error.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    measure = importlib.import_module(module).CONTENDERS[name].prepare(work)
    for _ in sys.stdin:
        answer = measure(), peak_gibibytes(os.getpid())
        print(json.dumps(answer), file=answers, flush=True)


def peak_gibibytes(process):
    """Returns the peak memory of a process and those that it started."""
    status = pathlib.Path(f"/proc/{process}/status").read_text()
    children = pathlib.Path(f"/proc/{process}/task/{process}/children").read_text()
    own = int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 2**20
    return own + sum(map(peak_gibibytes, children.split()))


def seconds_of(function, work):
    """Returns the seconds of a call, by the clock of the work."""
    clock = getattr(time, work["clock"])
    start = clock()
    function()
    return clock() - start


def measure_in_turn(measurements, num_rounds):
    """Yields the results by name of each round.

    Args:
        measurements: Dict by name of functions without arguments.
        num_rounds: int.
    """
    for _ in range(num_rounds):
        yield {name: measure() for name, measure in measurements.items()}


def summarize(rounds, scale=1):
    """Returns by case and contender the median, and how many times as fast it is.

    Args:
        rounds: List of dicts by name of dicts of seconds by case. The first name is the
            baseline.
        scale: Number that the seconds are multiplied by.

    >>> rounds = [{"slow": {"a step": 4.0}, "fast": {"a step": 1.0}}]
    >>> summarize(rounds)["a step"]["fast"]
    {'median': 1.0, 'times_as_fast': 4.0}
    """
    baseline, summary = next(iter(rounds[0])), {}
    for name, cases in rounds[0].items():
        for case in cases:
            seconds = [results[name][case] for results in rounds]
            of_baseline = [results[baseline].get(case) for results in rounds]
            found = {"median": scale * statistics.median(seconds)}
            if None not in of_baseline:
                factors = [a / b for a, b in zip(of_baseline, seconds, strict=True)]
                found["times_as_fast"] = statistics.median(factors)
            summary.setdefault(case, {})[name] = found
    return summary


def table(cases, gibibytes, unit):
    """Yields the lines of the results."""
    for case, contenders in cases.items():
        yield f"{case:38} {unit:>14} {'times as fast':>14} {'peak GiB':>9}"
        for name, found in contenders.items():
            factor = f"{found.get('times_as_fast', math.nan):14.3g}"
            median = f"{found['median']:14.4g}"
            yield f"  {name:36} {median} {factor} {gibibytes[name]:9.2f}"


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))
