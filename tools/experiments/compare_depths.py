#!/usr/bin/env python3
"""Measures over depth how far a quantized TFLite file is from one in float32.

A shared layer is applied again and again, so that its rounding could add up. The model is
a run with exits; both files answer at every depth. Prints for each depth the mean and the
largest absolute difference of a logit, the number of classes that change, and the main
score of both files.

example:
  tools/experiments/compare_depths.py runs/exits --data SST-2/dev.tsv
"""

import argparse
import json
import pathlib
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from albert_keras.compression import logits_at
from albert_keras.export import export_tflite
from albert_keras.export.signatures import EXIT_LOGITS
from albert_keras.export.tflite import load_tflite
from albert_keras.runs import load_run
from albert_keras.runs.rows import read_rows


def main(argv=None):
    """Measures, and prints the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", help="folder of `finetune --early-exit`")
    parser.add_argument("--data", required=True, help="file of rows with labels")
    parser.add_argument("--quantization", choices=["float16", "int8"], default="int8")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args(argv)
    results = compare(arguments.run, arguments.data, arguments.quantization)
    if arguments.json:
        print(json.dumps(results))
        return
    print(f"depth  mean difference  largest  changed  {results['metric']}, in float32")
    for depth, found in results["depths"].items():
        print(
            f"{depth:>5}{found['mean_difference']:17.4f}"
            f"{found['largest_difference']:9.4f}{found['num_changed']:9}"
            f"{found['score']:10.4f}{found['float32_score']:12.4f}"
        )


def compare(run, data, quantization="int8"):
    """Returns `metric`, `num_rows`, and by depth the differences and scores."""
    loaded = load_run(run)
    model, task = loaded.model, loaded.task
    if not hasattr(model, "exit_logits"):
        raise SystemExit(
            "The run must have exits: `finetune --early-exit`. "
            f"Received: {run} with {type(model).__name__}."
        )
    prepared = task.prepare(read_rows(task, data))
    texts = task.text_keys(prepared.rows)
    logits, scores = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for kind in (None, quantization):
            file = pathlib.Path(folder, f"{kind}.tflite")
            export_tflite(model, file, quantization=kind)
            outputs = load_tflite(file, signature=EXIT_LOGITS).predict(texts)
            # (num_rows, num_layers, num_classes)
            logits[kind] = outputs[EXIT_LOGITS]
            scores[kind] = {}
            for depth in range(1, logits[kind].shape[1] + 1):
                found = task.of_rows(prepared, logits_at(logits[kind], depth))
                scores[kind][str(depth)] = task.score(prepared, found)[task.main_metric]
    expected, received = logits[None], logits[quantization]
    differences = np.abs(received - expected)
    changed = expected.argmax(-1) != received.argmax(-1)
    return {
        "metric": task.main_metric,
        "num_rows": len(texts),
        "depths": {
            depth: {
                "mean_difference": float(differences[:, place].mean()),
                "largest_difference": float(differences[:, place].max()),
                # Of regression, whose single output is always the largest, none.
                "num_changed": int(changed[:, place].sum()),
                "score": scores[quantization][depth],
                "float32_score": scores[None][depth],
            }
            for place, depth in enumerate(scores[None])
        },
    }


if __name__ == "__main__":
    main()
