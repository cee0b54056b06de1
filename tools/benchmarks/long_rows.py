#!/usr/bin/env python3
"""Measures attention in blocks beside full attention, in inference on long rows.

Each has a process of its own, which first calls a stack of layers on shorter rows, so
that all code is loaded. Printed are the mebibytes that the first call on a long row adds
to the process at its peak, the median processor time of the calls after it, one of each
attention in turn, and the ratios of blocks to full attention.

example:
  tools/benchmarks/long_rows.py --lengths 4096 8192 --json
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from albert_keras.config import PRESETS
from albert_keras.system.processor import ENVIRONMENT

ROOT = pathlib.Path(__file__).resolve().parents[2]
KINDS = ("block", "full")
# Tokens of the rows of the first call: more than the layers compute at once.
SHORT_LENGTH = 1152

# Freed memory leaves the process at once, so that its peak is what was needed.
MALLOC = {
    "TF_CPU_ALLOCATOR_USE_BFC": "false",
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": "65536",
}

# Prints the mebibytes of a first call, then the seconds of a call for each line it reads.
MEASURE = """
import re, sys, time
import tensorflow as tf
from albert_keras.config import AlbertConfig
from albert_keras.layers import EncoderStack

attention, preset, num_layers, short_length, length = sys.argv[1:]
config = AlbertConfig.from_preset(
    preset, num_layers=int(num_layers), attention=attention
)
stack = EncoderStack(config)

def graph_of(length):
    x = tf.random.normal([1, length, config.hidden_dim])
    mask = tf.ones([1, length], tf.int32)
    graph = tf.function(stack).get_concrete_function(x, mask)
    return lambda: graph(x, mask)

def mebibytes(field):
    status = open("/proc/self/status").read()
    return int(re.search(field + r":\\s+(\\d+) kB", status)[1]) / 2**10

graph_of(int(short_length))()
call = graph_of(int(length))
before = mebibytes("VmRSS")
call()
print(mebibytes("VmHWM") - before, flush=True)
for _ in sys.stdin:
    start = time.process_time()
    call()
    print(time.process_time() - start, flush=True)
"""


def main():
    arguments = parse()
    results = {}
    for length in arguments.lengths:
        results[length] = measure(arguments, length)
        if not arguments.json:
            print(describe(length, results[length]))
    if arguments.json:
        print(json.dumps(results))


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--preset", choices=PRESETS, default="albert_base_v2")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--lengths", type=int, nargs="+", default=[4096])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if min(arguments.lengths) <= SHORT_LENGTH or arguments.rounds < 1:
        parser.error(
            f"--lengths must be more than {SHORT_LENGTH}, and --rounds at least 1. "
            f"Received: --lengths {arguments.lengths}, --rounds {arguments.rounds}"
        )
    return arguments


def measure(arguments, length):
    """Returns the mebibytes and seconds of each attention, and their ratios."""
    numbers = arguments.layers, SHORT_LENGTH, length
    words = [arguments.preset, *map(str, numbers)]
    processes = {kind: start(kind, *words) for kind in KINDS}
    mebibytes = {kind: read(process) for kind, process in processes.items()}
    seconds = {kind: [] for kind in KINDS}
    for _ in range(arguments.rounds):
        for kind, process in processes.items():
            print(file=process.stdin, flush=True)
            seconds[kind].append(read(process))
    for process in processes.values():
        process.communicate()
    seconds = {kind: statistics.median(times) for kind, times in seconds.items()}
    return {
        "mebibytes": mebibytes,
        "memory_ratio": mebibytes["block"] / mebibytes["full"],
        "seconds": seconds,
        "time_ratio": seconds["block"] / seconds["full"],
    }


def start(*words):
    """Starts a process that measures."""
    return subprocess.Popen(
        [sys.executable, "-c", MEASURE, *words],
        cwd=ROOT,
        env={"TF_CPP_MIN_LOG_LEVEL": "3", **ENVIRONMENT, **os.environ, **MALLOC},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def read(process):
    """Returns the next number that a process prints."""
    line = process.stdout.readline()
    if not line:
        sys.exit("A measurement failed; its error is above.")
    return float(line)


def describe(length, result):
    """Returns the measurement of a length as a line."""
    values = [
        f"{kind}: {result['mebibytes'][kind]:.0f} MiB, {result['seconds'][kind]:.2f} s"
        for kind in KINDS
    ]
    ratios = f"{result['memory_ratio']:.3f} and {result['time_ratio']:.2f}"
    return f"{length} tokens, {'; '.join(values)}; ratios {ratios}"


if __name__ == "__main__":
    main()
