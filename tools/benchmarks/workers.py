"""Client of worker processes that measure, one for each framework."""

import json
import os
import subprocess
import sys

from albert_keras.system.processor import ENVIRONMENT

# What the processes of some frameworks find in their environment.
BACKENDS = {
    "jax": {"KERAS_BACKEND": "jax"},
    "tensorflow_memory_returned": {"TF_CPU_ALLOCATOR_USE_BFC": "false"},
}


def framework_of(contenders):
    """Returns a dict from measurements to frameworks, of a module of contenders."""
    return {
        name: framework
        for framework, measurements in contenders.MEASUREMENTS.items()
        for name in measurements
    }


def add_options(parser, frameworks):
    """Adds the options of measurements by workers to a parser."""
    parser.add_argument(
        "--processor-time",
        action="store_true",
        help="measure processor time of all threads instead of wall time: for a busy "
        "machine; cores left idle do not show",
    )
    parser.add_argument(
        "--torch-python",
        default=sys.executable,
        help="Python with torch and transformers, and onnxruntime; default: this one",
    )
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="NAME",
        choices=list(frameworks),
        help=f"what to measure: {', '.join(frameworks)}",
    )
    parser.add_argument("--json", action="store_true")


class Workers:
    """The worker processes of the frameworks, each started at its first measurement.

    Args:
        contenders: Module that `worker_process.serve` runs, with `MEASUREMENTS`.
        work: Dict for all measurements, which JSON can hold: among others `threads`, and
            `clock`, the name of a function of module `time`.
        torch_python: Path of a Python that has torch and transformers.
    """

    def __init__(self, contenders, work, torch_python=sys.executable):
        self.contenders = contenders
        self.work = work
        self.pythons = {"torch": torch_python, "onnx": torch_python}
        self.processes = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def measure(self, name):
        """Returns the result of a measurement, or `None` if its framework is absent."""
        framework = framework_of(self.contenders)[name]
        if framework not in self.processes:
            self.processes[framework] = self._start(framework)
        process = self.processes[framework]
        if process is None:
            return None
        print(name, file=process.stdin, flush=True)
        answer = process.stdout.readline()
        if not answer:
            sys.exit(f"The worker of {framework} ended while it measured {name}.")
        return json.loads(answer)

    def stop(self):
        """Stops all workers; returns the peak memory in GiB by framework."""
        peaks = {}
        for framework, process in self.processes.items():
            if process is not None:
                process.stdin.close()
                _, _, usage = os.wait4(process.pid, 0)
                peaks[framework] = usage.ru_maxrss / 2**20
        self.processes = {}
        return peaks

    def _start(self, framework):
        python = self.pythons.get(framework, sys.executable)
        process = subprocess.Popen(
            [python, self.contenders.__file__, framework, json.dumps(self.work)],
            env={
                "TF_CPP_MIN_LOG_LEVEL": "3",
                **ENVIRONMENT,
                **os.environ,
                "KERAS_BACKEND": "tensorflow",
                **BACKENDS.get(framework, {}),
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        missing = json.loads(process.stdout.readline())
        if not missing:
            return process
        process.communicate()
        print(
            f"Measurements on {framework} need {' and '.join(missing)}. Received: "
            f"{python}, without them. The measurements are skipped; install with "
            f"{python} -m pip install {' '.join(missing)}.",
            file=sys.stderr,
        )
        return None
