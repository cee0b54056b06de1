#!/usr/bin/env python3
"""Compares the time that exits save with the layers that they save.

A text SavedModel leaves by the model's exit rule, and goes to full depth, in turn. Times
are processor time of one core, from the texts to the labels. The model is a calibrated
run with exits; or one of random weights, at each of whose depths about a quarter of the
rows would leave. A case is as in `benchmark_inference.py`.

examples:
  tools/benchmark_exits.py runs/exits --texts SST-2/dev.tsv --text-column sentence
  tools/benchmark_exits.py --preset albert_base_v2 --rounds 9 --json
"""

import argparse
import functools
import json
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import numpy as np

from albert_keras.analysis.interleaving import (
    measure_in_turn,
    medians,
    processor_seconds,
)
from tools.benchmark_inference import add_case_options, load_model, make_cases

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
    print("case        layers saved  time saved  milliseconds a row, at full depth")
    for case, found in results.items():
        print(
            f"{case:12}{found['layer_ratio']:11.2f}x{found['time_ratio']:11.2f}x"
            f"{found['by_rule']:19.3f}{found['full_depth']:15.3f}"
        )


def parse(argv):
    """Returns the arguments of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_case_options(parser)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(argv)


def measure(arguments):
    """Returns by case the ratios, full depth to the rule, and milliseconds of a row."""
    from albert_keras.compression import ExitRule
    from albert_keras.export import export_saved_model, load_exported

    model = load_model(arguments)
    if arguments.run is None:
        model = with_random_exits(model)
    elif not getattr(model, "exit_rule", None):
        raise SystemExit(
            "The run must have exits and a calibrated rule: `finetune --early-exit`, "
            f"then `calibrate`. Received: {arguments.run}."
        )
    cases, results = make_cases(model.preprocessor, arguments), {}
    num_layers = model.backbone.num_layers
    full_depth = ExitRule("fixed_depth", min_depth=num_layers)
    with tempfile.TemporaryDirectory() as folder:
        predictors = {}
        for name, rule in {"by_rule": None, "full_depth": full_depth}.items():
            path = pathlib.Path(folder, name)
            export_saved_model(model, path, exit_rule=rule)
            predictors[name] = load_exported(path)
        for case, rows in cases.items():
            results[case] = measure_case(predictors, rows, arguments.rounds, num_layers)
            print(f"measured {case}", file=sys.stderr)
    return results


def measure_case(predictors, rows, num_rounds, num_layers):
    """Returns the ratios and milliseconds of one case."""
    texts, batch_size = rows["texts"], rows["batch_size"]
    # Every shape once, unmeasured.
    outputs = {n: p.predict(texts, batch_size) for n, p in predictors.items()}
    measurements = {
        name: functools.partial(
            processor_seconds,
            functools.partial(predictor.predict, texts, batch_size),
        )
        for name, predictor in predictors.items()
    }
    rounds = [*measure_in_turn(measurements, num_rounds)]
    for seconds in rounds:
        seconds["time_ratio"] = seconds["full_depth"] / seconds["by_rule"]
    found = medians(rounds)
    mean_depth = float(np.mean(outputs["by_rule"]["exit_depth"]))
    return {
        "layer_ratio": num_layers / mean_depth,
        "time_ratio": found["time_ratio"],
        **{name: 1000 * found[name] / len(texts) for name in predictors},
    }


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
