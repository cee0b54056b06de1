#!/usr/bin/env python3
"""Measures score and time of the variants of a fine-tuned run, and of other runs.

The runs are of `finetune` or `distill`, of one task of texts. Variants of the first one
are: the model itself; with exits, the model cut at each depth and its calibrated rule;
and its SavedModel and TFLite files, which take text and have the rule. All begin with
raw text, and are timed in turn, so that a busy machine slows all of them alike. Prints
scores and milliseconds of processor time for each row, and draws them. On the front are
the variants that no other one beats in both.

example:
  tools/benchmarks/pareto.py runs/sst2 runs/student --data SST-2/dev.tsv \
      --output pareto.json --plot pareto.png
"""

import functools
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from albert_keras.analysis.figures import finish_figure, new_figure, run_name
from albert_keras.checks import check_different
from albert_keras.compression import ExitRule
from albert_keras.export import export_saved_model, export_tflite, load_exported
from albert_keras.runs.finetuning_task import read_rows
from albert_keras.runs.inference import Predicted, load_finetuned
from albert_keras.runs.reporting import note
from albert_keras.system.files import write_json
from albert_keras.tasks import PreparedRows
from tools.benchmarks.harness import measure_in_turn, seconds_of, summarize
from tools.parser import new_parser

# Writer of each exported form, and its options.
EXPORTED = {
    "SavedModel": (export_saved_model, {}),
    "TFLite float32": (export_tflite, {}),
    "TFLite float16": (export_tflite, {"quantization": "float16"}),
    "TFLite int8": (export_tflite, {"quantization": "int8"}),
}


def main(argv=None):
    """Prints the variants; writes them as JSON and draws them where asked."""
    parser = new_parser(__doc__)
    add = parser.add_argument
    add("runs", nargs="+", help="runs of one task, of texts")
    add("--data", required=True, help="rows with labels")
    add("--output", help="JSON file to write (default: none)")
    add("--plot", help="picture to write (default: none)")
    add("--batch-size", type=int, default=32)
    add("--num-rounds", type=int, default=5)
    add("--num-timed-rows", type=int, default=128, help="all are scored")
    arguments = parser.parse_args(argv)
    results = measure(arguments)
    for variant in results["variants"]:
        front = ", on the front" if variant["name"] in results["front"] else ""
        print(
            f"{variant['name']}: {variant['score']:.4g} {results['metric']}, "
            f"{variant['milliseconds']:.4g} ms a row{front}"
        )
    if arguments.output:
        write_json(arguments.output, results)
    if arguments.plot:
        finish_figure(plot(results), arguments.plot)


def measure(arguments):
    """Measures the variants.

    Returns:
        Dict: `metric`, the task's own; `num_rows`, `num_timed_rows`, `batch_size`;
        `variants`, a list of dicts of `name`, `run`, `score`, `milliseconds` (of
        processor time for each row), with exits `mean_depth`, and of exported forms
        `bytes`; and `front`, the names of those that no other one beats, from fast to
        slow.
    """
    folders, batch_size = arguments.runs, arguments.batch_size
    runs = [load_finetuned(folder) for folder in folders]
    task = runs[0].task
    check_different("runs", [run_name(folder) for folder in folders])
    rows = read_rows(task, arguments.data)
    timed_rows = task.rows_of(task.text_keys(rows)[: arguments.num_timed_rows])
    num_timed = len(timed_rows.texts)
    variants, timed = [], {}
    with tempfile.TemporaryDirectory() as temporary:
        found = [*variants_of(folders[0], runs[0], batch_size, temporary)]
        for folder, run in zip(folders[1:], runs[1:], strict=True):
            found.append(variant_of(folder, run_name(folder), run, batch_size))
        for variant, predict in found:
            predicted = predict(rows)
            variant["score"] = float(predicted.score()[task.main_metric])
            if predicted.exit_depths is not None:
                variant["mean_depth"] = float(predicted.exit_depths.mean())
            variants.append(variant)
            timed[variant["name"]] = functools.partial(time_rows, predict, timed_rows)
        # The first time a shape takes longer.
        _, *rounds = measure_in_turn(timed, 1 + arguments.num_rounds)
    seconds = summarize(rounds, 1000 / num_timed)["rows"]
    for variant in variants:
        variant["milliseconds"] = seconds[variant["name"]]["median"]
    return {
        "metric": task.main_metric,
        "num_rows": len(rows.texts),
        "num_timed_rows": num_timed,
        "batch_size": batch_size,
        "variants": variants,
        "front": front_of(variants),
    }


def time_rows(predict, rows):
    """Returns the processor time of a prediction."""
    return {"rows": seconds_of(lambda: predict(rows), {"clock": "process_time"})}


def variants_of(folder, run, batch_size, temporary):
    """Yields each variant of a run, a dict, and the function that predicts with it."""
    model = run.model
    rules = {run_name(folder): None}
    if model.export_spec().has_exits:
        num_layers = model.backbone.num_layers
        for depth in range(1, num_layers):
            rule = ExitRule("fixed_depth", min_depth=depth)
            rules[f"{depth} of {num_layers} layers"] = rule
        if model.exit_rule:
            rule = ExitRule(**model.exit_rule)
            rules[f"exit by {rule.name.replace('_', ' ')}"] = rule
    for name, rule in rules.items():
        yield variant_of(folder, name, run, batch_size, rule)
    if model.preprocessor is None:
        note(
            f"'{folder}' is measured without its exported forms, which take text: it "
            "classifies more than the beginnings of texts"
        )
        return
    for name, (write, options) in EXPORTED.items():
        path = pathlib.Path(temporary, name)
        num_bytes = write(model, path, **options).num_bytes
        variant = {"name": name, "run": str(folder), "bytes": num_bytes}
        exported = run.task, load_exported(path), batch_size
        yield variant, functools.partial(predict_exported, *exported)


def variant_of(folder, name, run, batch_size, rule=None):
    """Returns the variant of a run by an exit rule, by default at full depth."""
    if run.model.export_spec().has_exits and rule is None:
        rule = ExitRule("fixed_depth", min_depth=run.model.backbone.num_layers)

    def predict(rows):
        return run.predict_rows(run.task.prepare(rows), batch_size, rule)

    return {"name": name, "run": str(folder)}, predict


def predict_exported(task, model, batch_size, rows):
    """Returns the `Predicted` of an `ExportedModel`."""
    _, predictions, depths = model.predict_rows(rows, batch_size)
    return Predicted(task, PreparedRows(rows, None), predictions, depths)


def front_of(variants):
    """Returns the names of the variants that no other one beats, from fast to slow."""
    front, best = [], float("-inf")
    for each in sorted(variants, key=lambda v: (v["milliseconds"], -v["score"])):
        if each["score"] > best:
            front.append(each["name"])
            best = each["score"]
    return front


def plot(results):
    """Draws score and milliseconds, a row for each variant."""
    variants = sorted(results["variants"], key=lambda v: -v["milliseconds"])
    names = [variant["name"] for variant in variants]
    fills = ["0.15" if name in results["front"] else "w" for name in names]
    figure = new_figure(8, 1.2 + 0.3 * len(names))
    left, right = figure.subplots(1, 2, sharey=True)
    for axes, key in (left, "score"), (right, "milliseconds"):
        axes.scatter([v[key] for v in variants], names, color=fills, edgecolor="0.15")
        axes.grid(color="0.9")
        axes.set_axisbelow(True)
    left.set_xlabel(f"{results['metric']} ({results['num_rows']:,} rows)")
    right.set_xlabel(f"processor ms a row, in batches of {results['batch_size']}")
    figure.suptitle("Filled: no other variant is both better and faster", fontsize=10)
    return figure


if __name__ == "__main__":
    main()
