#!/usr/bin/env python3
"""Compares the speed of a training step with other libraries and the processor's peak.

One process per framework stays alive. In every round each contender trains on the same
batch while the others wait, so that a busy machine slows all of them. Ratios and shares
are computed within a round; the medians over the rounds are printed.

`albert_keras` trains with LAMB, `keras_hub` with Keras' LAMB, `huggingface` with torch's
AdamW, all clipped by the global norm. `huggingface` is the unchanged
`AlbertForPreTraining`, whose head computes all positions; `huggingface_masked_only`
gathers the masked positions first, as all others do. `..._jit` is compiled by XLA. The
`..._memory_returned` run without `TF_CPU_ALLOCATOR_USE_BFC`, which all others have: their
process returns the memory of tensors to the system.

The peak is the time of the matrix products of one step alone, forward and backward, in
the same shapes; for each product that of TensorFlow or torch, whichever is faster.

With `--device gpu` bfloat16 is compared: this package on JAX with Hugging Face on torch,
as it is and compiled. The peak is then that of large products, measured in JAX.

examples:
  tools/benchmarks/training.py --torch-python ~/torch/bin/python --json
  tools/benchmarks/training.py --preset albert_mini_en --num-layers 3 --batch-size 32 \
      --only albert_keras albert_keras_memory_returned
"""

import argparse
import json
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from albert_keras.config import PRESETS, AlbertConfig
from tools.benchmarks import training_contenders
from tools.benchmarks.step_products import step_products
from tools.benchmarks.workers import Workers, add_options, framework_of

FRAMEWORKS = framework_of(training_contenders)
PRODUCTS = {
    "float32": ["products_tensorflow", "products_torch"],
    "bfloat16": ["products_tensorflow_bfloat16", "products_torch_bfloat16"],
}
PEAK = "peak_jax_bfloat16"
COMPILED = "huggingface_masked_only_compiled_bfloat16"
ON_GPU = (PEAK, "albert_keras_jax_bfloat16", "huggingface_bfloat16", COMPILED)
# What is measured by default.
CHOSEN = {
    "cpu": [name for name in FRAMEWORKS if name not in (PEAK, COMPILED)],
    "gpu": [name for name in FRAMEWORKS if name in ON_GPU],
}
SHARES = ("host_work_share", "host_work_share_of_logged_steps")
PEERS = (
    *("albert_keras_memory_returned", "albert_keras_jit_memory_returned"),
    *("huggingface", "huggingface_masked_only", "huggingface_bfloat16"),
    *(COMPILED, "keras_hub"),
)


def main():
    arguments = parse()
    work = work_of(arguments)
    chosen = arguments.only or CHOSEN[arguments.device]
    names = [name for name in FRAMEWORKS if name in chosen]
    with Workers(training_contenders, work, arguments.torch_python) as workers:
        # The first, unmeasured run prepares all contenders, and drops missing ones.
        names = [name for name in names if workers.measure(name) is not None]
        rounds = []
        for number in range(arguments.rounds):
            rounds.append({name: workers.measure(name) for name in names})
            print(f"round {number + 1} of {arguments.rounds}", file=sys.stderr)
    results = summarize(rounds, work)
    if arguments.json:
        print(json.dumps(results))
    else:
        print_results(results)


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--preset", choices=PRESETS, default="albert_base_v2")
    parser.add_argument("--num-layers", type=int, help="default: that of the preset")
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--sequence-length", type=int, default=128)
    parser.add_argument("--num-predictions", type=int, default=20)
    parser.add_argument("--steps", type=int, default=1, help="steps per round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2, help="processor cores used")
    parser.add_argument("--device", choices=["cpu", "gpu"], default="cpu")
    add_options(parser, FRAMEWORKS)
    return parser.parse_args()


def work_of(arguments):
    layers = (
        {} if arguments.num_layers is None else {"num_layers": arguments.num_layers}
    )
    return {
        "config": AlbertConfig.from_preset(arguments.preset, **layers).to_dict(),
        "batch_size": arguments.batch_size,
        "sequence_length": arguments.sequence_length,
        "num_predictions": arguments.num_predictions,
        "steps": arguments.steps,
        "threads": arguments.threads,
        "device": arguments.device,
        "clock": "process_time" if arguments.processor_time else "perf_counter",
    }


def summarize(rounds, work):
    """Returns the medians of seconds, ratios and shares over the rounds."""
    names = rounds[0].keys()
    others = ("products_", "peak_", "lamb_", "host_")
    steps = [name for name in names if not name.startswith(others)]
    tokens = work["batch_size"] * work["sequence_length"]
    gigaflops = sum(product.step_flops for product in step_products(work)) / 1e9
    results = {
        "gigaflops_of_a_step": gigaflops,
        "step_seconds": {n: statistics.median(r[n] for r in rounds) for n in steps},
        "tokens_per_second": {
            n: statistics.median(tokens / r[n] for r in rounds) for n in steps
        },
        "speed_ratio": {
            f"{name}/{peer}": statistics.median(r[peer] / r[name] for r in rounds)
            for name in steps
            for peer in PEERS
            if name.startswith("albert_keras") and peer in steps and peer != name
        },
        "peak_gigaflops_per_second": {},
        "share_of_peak": {},
    }
    for precision, products in PRODUCTS.items():
        products = [name for name in products if name in names]
        if precision == "bfloat16" and PEAK in names:
            peaks = [1e9 * gigaflops / r[PEAK] for r in rounds]
        elif products:
            peaks = [seconds_at_peak(r, products) for r in rounds]
        else:
            continue
        results["peak_gigaflops_per_second"][precision] = statistics.median(
            gigaflops / peak for peak in peaks
        )
        results["share_of_peak"][precision] = {
            name: statistics.median(
                peak / r[name] for peak, r in zip(peaks, rounds, strict=True)
            )
            for name in steps
            if name.endswith("_bfloat16") == (precision == "bfloat16")
        }
    if {"lamb_update", "albert_keras"} <= names:
        results["lamb_share"] = statistics.median(
            r["lamb_update"] / r["albert_keras"] for r in rounds
        )
    for name in SHARES:
        if name in names:
            results[name] = statistics.median(r[name] for r in rounds)
    return results


def seconds_at_peak(results, kinds):
    """Returns the seconds of a step's products, each in the fastest framework."""
    return sum(map(min, zip(*(results[kind] for kind in kinds), strict=True)))


def print_results(results):
    for title, value in results.items():
        if not isinstance(value, dict):
            print(f"{title:44} {value:10.4f}")
            continue
        print(title)
        for name, number in value.items():
            if isinstance(number, dict):
                for inner, share in number.items():
                    print(f"  {name + ' ' + inner:42} {share:10.3f}")
            else:
                print(f"  {name:42} {number:10.3f}")


if __name__ == "__main__":
    main()
