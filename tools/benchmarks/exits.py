#!/usr/bin/env python3
"""Compares the time that exits save with the layers that they save.

An exported model leaves by its exit rule, and goes to full depth, in turn, on one core.
Times are from the texts to the labels. The model is a calibrated run with exits; or one
of random weights, at each of whose depths about a quarter of the rows would leave. A case
is as in `inference.py`. With --min-depths no row leaves before a depth, so that
fewer layers are saved.

examples:
  tools/benchmarks/exits.py runs/exits --texts SST-2/dev.tsv --text-column sentence \
      --min-depths 1 5 7 --format tflite --wall-clock
  tools/benchmarks/exits.py --preset albert_base_v2 --rounds 9 --json
"""

import argparse
import functools
import json
import os
import pathlib
import sys
import tempfile
from dataclasses import replace

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

import numpy as np

from tools.benchmarks.inference import add_case_options, load_model, make_cases
from tools.benchmarks.interleaving import measure_in_turn, medians
from tools.benchmarks.worker_process import seconds_of

# Of the random exits: probability of a class with which a row leaves, and share of rows.
CONFIDENCE, SHARE = 0.9, 0.25


def main(argv=None):
    """Measures, and prints the results."""
    arguments = parse(argv)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    results = measure(arguments)
    if arguments.json:
        print(json.dumps(results))
        return
    print("case        from depth  layers saved  time saved  ms a row, at full depth")
    for case, found in results.items():
        for rule in found["by_rule"]:
            print(
                f"{case:12}{rule['min_depth']:10}{rule['layer_ratio']:13.2f}x"
                f"{rule['time_ratio']:11.2f}x{rule['milliseconds']:10.3f}"
                f"{found['full_depth']:15.3f}"
            )


def parse(argv):
    """Returns the arguments of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_case_options(parser)
    parser.add_argument(
        "--min-depths", type=int, nargs="+", help="first exits (default: the rule's)"
    )
    parser.add_argument(
        "--format", choices=["saved_model", "tflite"], default="saved_model"
    )
    parser.add_argument(
        "--wall-clock", action="store_true", help="in place of processor time"
    )
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(argv)


def measure(arguments):
    """Returns by case the milliseconds of a row at full depth, and `by_rule` a list."""
    import keras

    from albert_keras.compression import ExitRule
    from albert_keras.export import export_saved_model, export_tflite, load_exported

    # Random weights decide when rows would leave.
    keras.utils.set_random_seed(1)
    exporters = {"saved_model": export_saved_model, "tflite": export_tflite}
    export, model = exporters[arguments.format], load_model(arguments)
    if arguments.run is None:
        model = with_random_exits(model)
    elif not getattr(model, "exit_rule", None):
        raise SystemExit(
            "The run must have exits and a calibrated rule: `finetune --early-exit`, "
            f"then `calibrate`. Received: {arguments.run}."
        )
    cases, results = make_cases(model.preprocessor, arguments), {}
    num_layers, own = model.backbone.num_layers, ExitRule.from_dict(model.exit_rule)
    # Full depth comes last.
    rules = [
        *(replace(own, min_depth=n) for n in arguments.min_depths or [own.min_depth]),
        ExitRule("fixed_depth", min_depth=num_layers),
    ]
    with tempfile.TemporaryDirectory() as folder:
        predictors = []
        for number, rule in enumerate(rules):
            path = pathlib.Path(folder, str(number))
            export(model, path, exit_rule=rule)
            predictors.append(load_exported(path))
        for case, rows in cases.items():
            *by_rule, full_depth = measure_case(predictors, rows, arguments)
            for rule, found in zip(rules, by_rule, strict=False):
                found["min_depth"] = rule.min_depth
            results[case] = {
                "by_rule": by_rule,
                "full_depth": full_depth["milliseconds"],
            }
            print(f"measured {case}", file=sys.stderr)
    return results


def measure_case(predictors, rows, arguments):
    """Returns the milliseconds of each predictor, and its ratios to the last."""
    texts, batch_size = rows["texts"], rows["batch_size"]
    # Every shape once, unmeasured.
    depths = [p.predict(texts, batch_size)["exit_depth"].mean() for p in predictors]
    clock = {"clock": "perf_counter" if arguments.wall_clock else "process_time"}
    measurements = {
        number: functools.partial(
            seconds_of, functools.partial(predictor.predict, texts, batch_size), clock
        )
        for number, predictor in enumerate(predictors)
    }
    rounds = [*measure_in_turn(measurements, arguments.rounds)]
    last = len(predictors) - 1
    seconds = medians(rounds)
    ratios = medians([{n: r[last] / r[n] for n in measurements} for r in rounds])
    return [
        {
            "layer_ratio": float(depths[last] / depths[number]),
            "time_ratio": ratios[number],
            "milliseconds": 1000 * seconds[number] / len(texts),
        }
        for number in measurements
    ]


def with_random_exits(model, seed=1):
    """Returns a model of two classes with exits on a classifier's backbone.

    The heads are random, but centred and scaled by the sample's reviews.
    """
    from albert_keras.models import AlbertEarlyExitClassifier
    from albert_keras.sample import REVIEWS_TEST
    from albert_keras.tasks import TextClassificationTask

    model = AlbertEarlyExitClassifier(model.backbone, 2, model.preprocessor)
    texts = TextClassificationTask().read(REVIEWS_TEST).texts[:64]
    shape = (model.backbone.num_layers, model.backbone.hidden_dim, 2)
    kernel = np.random.default_rng(seed).normal(size=shape)

    def assign(kernel, bias):
        heads = model.exit_heads, model.output_dense
        for head, part in zip(heads, (slice(-1), -1), strict=True):
            head.kernel.assign(kernel[part])
            head.bias.assign(bias[part])

    def logits():
        return np.asarray(model.exit_logits(model.preprocessor(texts)))

    assign(kernel, np.zeros((len(kernel), 2)))
    found = logits()
    centre = found.mean(axis=0)
    distances = np.abs(np.diff(found - centre, axis=-1))[..., 0]
    odds = np.log(CONFIDENCE / (1 - CONFIDENCE))
    scale = odds / np.quantile(distances, 1 - SHARE, axis=0)
    assign(kernel * scale[:, None, None], -centre * scale[:, None])
    model.exit_rule = {"name": "confidence", "threshold": CONFIDENCE}
    return model


if __name__ == "__main__":
    main()
