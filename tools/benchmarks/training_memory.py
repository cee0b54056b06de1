#!/usr/bin/env python3
r"""Measures the memory of a training step per layer: plain, rematerialized, in blocks.

Each depth trains two steps in a new process, whose peak resident set is printed. It
includes libraries, weights and optimizer; the growth with depth is the memory of a
layer's activations.

example:
  tools/benchmarks/training_memory.py --layers 2 4 8 --json
  tools/benchmarks/training_memory.py --xxlarge
  tools/benchmarks/training_memory.py --kinds plain block --layers 1 2 --batch-size 1 \
      --sequence-length 4096 --threads 1
"""

import argparse
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from albert_keras.config import PRESETS, AlbertConfig
from tools.benchmarks import training_contenders
from tools.benchmarks.workers import Workers

XXLARGE = {
    "preset": "albert_xxlarge_v2",
    "kinds": ["rematerialization"],
    "layers": [AlbertConfig.from_preset("albert_xxlarge_v2").num_layers],
    "batch_size": 1,
    "sequence_length": 512,
}
KINDS = {
    "plain": {},
    "rematerialization": {"rematerialization": True},
    "block": {"attention": "block"},
}


def main():
    arguments = parse()
    results = {}
    for kind in arguments.kinds:
        depths = {n: measure(arguments, kind, n) for n in arguments.layers}
        results[kind] = {"depths": depths}
        if len(depths) > 1:
            results[kind]["mebibytes_a_layer"] = growth(depths)
    if arguments.json:
        print(json.dumps(results))
    elif len(arguments.layers) > 1:
        for kind, result in results.items():
            print(f"{kind:17} {result['mebibytes_a_layer']:8.1f} MiB a layer")


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--preset", choices=PRESETS, default="albert_base_v2")
    parser.add_argument("--kinds", choices=KINDS, nargs="+", default=[*KINDS][:2])
    parser.add_argument("--layers", type=int, nargs="+", default=[2, 4, 8])
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--sequence-length", type=int, default=128)
    parser.add_argument("--num-predictions", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2, help="processor cores used")
    parser.add_argument("--on", default="albert_keras", help="contender of training.py")
    parser.add_argument(
        "--xxlarge",
        action="store_true",
        help="the whole largest model at length 512, batch 1, rematerialized",
    )
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.xxlarge:
        vars(arguments).update(XXLARGE)
    return arguments


def measure(arguments, kind, num_layers):
    """Trains two steps; returns the peak memory and the seconds of the second."""
    config = AlbertConfig.from_preset(
        arguments.preset,
        num_layers=num_layers,
        max_sequence_length=max(512, arguments.sequence_length),
        **KINDS[kind],
    )
    work = {
        "config": config.to_dict(),
        "batch_size": arguments.batch_size,
        "sequence_length": arguments.sequence_length,
        "num_predictions": arguments.num_predictions,
        "steps": 1,
        "threads": arguments.threads,
        "device": "cpu",
        "clock": "perf_counter",
    }
    with Workers(training_contenders, work) as workers:
        # The preparation trains a first step.
        seconds = workers.measure(arguments.on)
        (gibibytes,) = workers.stop().values()
    print(
        f"{num_layers:3} layers, {kind:17} {gibibytes:7.2f} GiB, {seconds:.1f} s a step",
        file=sys.stderr,
    )
    return {"gibibytes": gibibytes, "step_seconds": seconds}


def growth(results):
    """Returns the MiB per layer, from the first depth to the last."""
    (first, first_result), *_, (last, last_result) = results.items()
    gibibytes = last_result["gibibytes"] - first_result["gibibytes"]
    return 1024 * gibibytes / (last - first)


if __name__ == "__main__":
    main()
