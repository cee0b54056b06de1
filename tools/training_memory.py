#!/usr/bin/env python3
"""Memory of a training step: what a layer costs, plain and with rematerialization.

Each depth trains two steps in a process of its own, whose greatest resident set is what
is printed; it holds libraries, weights and optimizer too, so that the growth from depth
to depth is what the activations of a layer need.

example:
  tools/training_memory.py --layers 2 4 8 --json
  tools/training_memory.py --xxlarge
"""

import argparse
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from albert_keras.config import PRESETS, AlbertConfig
from tools.training_workers import Workers

XXLARGE = {
    "preset": "albert_xxlarge_v2",
    "layers": [AlbertConfig.from_preset("albert_xxlarge_v2").num_layers],
    "batch_size": 1,
    "sequence_length": 512,
}
KINDS = {"plain": False, "rematerialization": True}


def main():
    arguments = parse()
    kinds = ["rematerialization"] if arguments.xxlarge else KINDS
    results = {}
    for kind in kinds:
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
    parser.add_argument("--layers", type=int, nargs="+", default=[2, 4, 8])
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--sequence-length", type=int, default=128)
    parser.add_argument("--num-predictions", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2, help="processor cores used")
    parser.add_argument(
        "--on", default="albert_keras", help="contender of benchmark_training.py"
    )
    parser.add_argument(
        "--xxlarge",
        action="store_true",
        help="the largest model whole, at length 512, batch 1, with rematerialization",
    )
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.xxlarge:
        vars(arguments).update(XXLARGE)
    return arguments


def measure(arguments, kind, num_layers):
    """Trains two steps; returns the greatest memory and the second step's seconds."""
    config = AlbertConfig.from_preset(
        arguments.preset, num_layers=num_layers, rematerialization=KINDS[kind]
    )
    work = {
        "config": config.to_dict(),
        "batch_size": arguments.batch_size,
        "sequence_length": arguments.sequence_length,
        "num_predictions": arguments.num_predictions,
        "steps": 1,
        "threads": arguments.threads,
        "clock": "perf_counter",
    }
    with Workers(work) as workers:
        # Preparing it trains a first step.
        seconds = workers.measure(arguments.on)
        (gibibytes,) = workers.stop().values()
    print(
        f"{num_layers:3} layers, {kind:17} {gibibytes:7.2f} GiB, {seconds:.1f} s a step",
        file=sys.stderr,
    )
    return {"gibibytes": gibibytes, "step_seconds": seconds}


def growth(results):
    """Returns the MiB that a layer more takes, between the least and the deepest."""
    (first, first_result), *_, (last, last_result) = results.items()
    gibibytes = last_result["gibibytes"] - first_result["gibibytes"]
    return 1024 * gibibytes / (last - first)


if __name__ == "__main__":
    main()
