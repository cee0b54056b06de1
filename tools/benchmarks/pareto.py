#!/usr/bin/env python3
"""Measures score and time of the variants of a fine-tuned run, and of other runs.

The runs are of `finetune` or `distill`, of one task of texts. Variants of the first one
are: the model itself; with exits, the model cut at each depth and its calibrated rule;
and its SavedModel and TFLite files, which take text and have the rule. All begin with
raw text, and are timed in turn, so that a busy machine slows all of them alike. Prints
scores and milliseconds of processor time of a row, and draws the front: no other variant
is both faster and better.

example:
  tools/benchmarks/pareto.py runs/sst2 runs/student --data SST-2/dev.tsv \
      --output pareto.json --plot pareto.png
"""

import argparse
import functools
import itertools
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from albert_keras.analysis.figures import (
    families_for,
    finish_figure,
    new_figure,
    run_name,
    text_width,
)
from albert_keras.checks import check_different, import_optional
from albert_keras.compression import EarlyExit, ExitRule
from albert_keras.export import export_saved_model, export_tflite, load_exported
from albert_keras.export.signatures import text_preprocessor
from albert_keras.runs.inference import load_finetuned
from albert_keras.runs.reporting import note
from albert_keras.runs.rows import read_rows
from albert_keras.system.files import write_json
from albert_keras.tasks import PreparedRows
from albert_keras.tasks.text_classification.task import TextTask
from tools.benchmarks.interleaving import (
    measure_in_turn,
    medians,
    processor_seconds,
)

# Kind, writer and its options of each exported form.
EXPORTED = {
    "SavedModel": ("SavedModel", export_saved_model, {}),
    "TFLite float32": ("TFLite", export_tflite, {}),
    "TFLite float16": ("TFLite", export_tflite, {"quantization": "float16"}),
    "TFLite int8": ("TFLite", export_tflite, {"quantization": "int8"}),
}
# Markers and fills tell the kinds apart without colours.
STYLES = {
    "run": {"marker": "o", "color": "black", "label": "run"},
    "fixed depth": {"marker": "s", "color": "0.45", "label": "cut at a fixed depth"},
    "exit rule": {"marker": "^", "color": "C0", "label": "early exit by a rule"},
    "SavedModel": {"marker": "D", "color": "C2", "label": "SavedModel"},
    "TFLite": {"marker": "v", "color": "C3", "label": "TFLite"},
}
WIDTH, HEIGHT = 8, 5
# Points of type, and of the distance of a label from its point.
SIZE, GAP = 9, 6


def main(argv=None):
    """Prints the variants; writes them as JSON and draws them where that is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+", help="runs of one task, of texts")
    parser.add_argument("--data", required=True, help="rows with labels")
    parser.add_argument("--output", help="JSON file to write (default: none)")
    parser.add_argument("--plot", help="picture to write (default: none)")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--num-rounds", type=int, default=5)
    parser.add_argument(
        "--num-timed-rows", type=int, default=128, help="all are scored"
    )
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
        `variants`, a list of dicts of `name`, `run`, `kind`, `score`, `milliseconds` (of
        processor time a row), with exits `mean_depth`, and of exported forms `bytes`;
        and `front`, the names of those that no other one beats, from fast to slow.
    """
    folders, batch_size = arguments.runs, arguments.batch_size
    runs = [load_finetuned(folder) for folder in folders]
    task = runs[0].task
    check_runs(folders, runs)
    rows = read_rows(task, arguments.data)
    timed_rows = task.rows_of(task.text_keys(rows)[: arguments.num_timed_rows])
    with tempfile.TemporaryDirectory() as temporary:
        found = [*variants_of(folders[0], runs[0], batch_size, temporary)]
        for folder, run in zip(folders[1:], runs[1:], strict=True):
            found.append(variant_of(folder, run_name(folder), "run", run, batch_size))
        for about, predict in found:
            about |= scores_of(task, *predict(rows))
        timed = {
            about["name"]: functools.partial(
                processor_seconds, functools.partial(predict, timed_rows)
            )
            for about, predict in found
        }
        # Each shape takes more time at its first use.
        _, *rounds = measure_in_turn(timed, 1 + arguments.num_rounds)
        seconds = medians(rounds)
    variants, num_timed = [about for about, _ in found], len(timed_rows.texts)
    for about in variants:
        about["milliseconds"] = 1000 * seconds[about["name"]] / num_timed
    return {
        "metric": task.main_metric,
        "num_rows": len(rows.texts),
        "num_timed_rows": num_timed,
        "batch_size": batch_size,
        "variants": variants,
        "front": front_of(variants),
    }


def scores_of(task, prepared, predictions, exit_depths):
    scores = {"score": float(task.score(prepared, predictions)[task.main_metric])}
    if exit_depths is not None:
        scores["mean_depth"] = float(exit_depths.mean())
    return scores


def check_runs(folders, runs):
    first = runs[0].task
    check_different("runs", [run_name(folder) for folder in folders])
    for folder, (task, _) in zip(folders, runs, strict=True):
        if not isinstance(task, TextTask):
            raise SystemExit(
                "The variants of classifiers and regressions of texts are measured. "
                f"Received: '{folder}', a run of {type(task).__name__}."
            )
        if task.run_facts() != first.run_facts() or type(task) is not type(first):
            raise SystemExit(
                "The runs must be of one task, with the same labels. Received: "
                f"'{folder}', which differs from '{folders[0]}'."
            )


def variants_of(folder, run, batch_size, temporary):
    """Yields what is known of each variant of a run, a dict, and how it predicts."""
    name = run_name(folder)
    model = run.model
    if not hasattr(model, "exit_logits"):
        yield variant_of(folder, name, "run", run, batch_size)
    else:
        depths = range(1, model.backbone.num_layers + 1)
        *cuts, full = [ExitRule("fixed_depth", min_depth=depth) for depth in depths]
        yield variant_of(folder, name, "run", run, batch_size, full)
        for rule in cuts:
            cut = f"{rule.min_depth} of {len(depths)} layers"
            yield variant_of(folder, cut, "fixed depth", run, batch_size, rule)
        if model.exit_rule:
            rule = ExitRule.from_dict(model.exit_rule)
            title = f"exit by {rule.name.replace('_', ' ')}"
            yield variant_of(folder, title, "exit rule", run, batch_size, rule)
    if text_preprocessor(model) is None:
        note(
            f"'{folder}' is measured without its exported forms, which take text: it "
            "classifies more than the beginnings of texts"
        )
        return
    for title, (kind, write, options) in EXPORTED.items():
        path = pathlib.Path(temporary, title)
        num_bytes = write(model, path, **options).num_bytes
        about = {"name": title, "run": str(folder), "kind": kind, "bytes": num_bytes}
        yield about, exported_prediction(run.task, load_exported(path), batch_size)


def variant_of(folder, name, kind, run, batch_size, rule=None):
    if hasattr(run.model, "exit_logits"):
        # Compiled once.
        rule = EarlyExit(run.model, rule)

    def predict(rows):
        prepared = run.task.prepare(rows)
        predicted = run.predict_rows(prepared, batch_size, rule)
        return prepared, predicted.predictions, predicted.exit_depths

    return {"name": name, "run": str(folder), "kind": kind}, predict


def exported_prediction(task, predictor, batch_size):
    """Returns how an exported model predicts rows of a task of texts.

    Args:
        task: `TextTask`.
        predictor: What `load_exported` returns.
        batch_size: int. Rows of a batch.

    Returns:
        Function of rows that returns their `PreparedRows`, predictions and exit depths.
    """

    def predict(rows):
        outputs = predictor.predict(task.text_keys(rows), batch_size=batch_size)
        found = outputs.get("logits", outputs.get("probabilities"))
        return PreparedRows(rows, None), found, outputs.get("exit_depth")

    return predict


def front_of(variants):
    """Returns the names of the variants that no other one beats, from fast to slow."""
    front, best = [], float("-inf")
    for each in sorted(variants, key=lambda v: (v["milliseconds"], -v["score"])):
        if each["score"] > best:
            front.append(each["name"])
            best = each["score"]
    return front


def plot(results):
    """Draws scores against milliseconds of a row, and the front of the best variants."""
    variants = results["variants"]
    names = [variant["name"] for variant in variants]
    figure = new_figure(WIDTH, HEIGHT)
    axes = figure.subplots()
    axes.set_xscale("log")
    axes.set_xlabel(f"milliseconds of a row (processor time, {about_batches(results)})")
    axes.set_ylabel(f"{results['metric']} ({results['num_rows']:,} rows)")
    by_name = {variant["name"]: variant for variant in variants}
    front = [by_name[name] for name in front_of(variants)]
    axes.plot(*places(front), color="0.6", linestyle="--", linewidth=1, zorder=1)
    for kind, style in STYLES.items():
        if points := [v for v in variants if v["kind"] == kind]:
            axes.plot(*places(points), linestyle="", markersize=7, **style)
    # Room for the labels.
    axes.margins(x=0.25, y=0.15)
    figure.legend(loc="outside upper center", ncols=3, frameon=False)
    ticker = import_optional("matplotlib.ticker", "plots")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 3, 5, 7)))
    axes.xaxis.set_minor_formatter(ticker.NullFormatter())
    figure.draw_without_rendering()
    add_labels(axes, variants, families_for(*names))
    return figure


def about_batches(results):
    size = results["batch_size"]
    return "one at a time" if size == 1 else f"batches of {size}"


def places(variants):
    return [v["milliseconds"] for v in variants], [v["score"] for v in variants]


def add_labels(axes, variants, families):
    """Writes the names beside the points, where they cover no other name or point."""
    points = axes.transData.transform([*zip(*places(variants), strict=True)])
    scale = axes.figure.dpi / 72
    taken = [box_around(x, y, 4 * scale, 4 * scale) for x, y in points]
    frame = axes.get_window_extent()
    for variant, (x, y) in zip(variants, points, strict=True):
        width = text_width(variant["name"], families, SIZE) * axes.figure.dpi
        height = 1.3 * SIZE * scale
        tried = [
            (dx, dy, box_around(x + dx, y + dy, width / 2, height / 2))
            for dx, dy in offsets(width, height, GAP * scale)
        ]
        inside = [
            place
            for place in tried
            if frame.contains(*place[2][0]) and frame.contains(*place[2][1])
        ] or tried
        dx, dy, box = min(inside, key=lambda place: overlap(place[2], taken))
        taken.append(box)
        axes.annotate(
            variant["name"],
            (variant["milliseconds"], variant["score"]),
            (dx / scale, dy / scale),
            textcoords="offset points",
            ha="center",
            va="center",
            fontfamily=families,
            fontsize=SIZE,
            parse_math=False,
            # Over the line of the front, and under the points.
            zorder=1.5,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
            arrowprops={"arrowstyle": "-", "color": "0.7", "linewidth": 0.6},
        )


def offsets(width, height, gap):
    """Yields the places of a label's centre from its point, the nearest ones first."""
    for distance, side in itertools.product(range(9), (1, -1)):
        rise = side * distance * height * 0.7
        for shift in (width / 2 + gap, -width / 2 - gap):
            yield shift, rise
        if distance:
            yield 0, rise + side * gap


def box_around(x, y, half_width, half_height):
    """Returns the lower left and the upper right corner of a box."""
    return (x - half_width, y - half_height), (x + half_width, y + half_height)


def overlap(box, others):
    """Returns the area that a box shares with others."""
    (left, bottom), (right, top) = box
    return sum(
        max(0, min(right, x1) - max(left, x0)) * max(0, min(top, y1) - max(bottom, y0))
        for (x0, y0), (x1, y1) in others
    )


if __name__ == "__main__":
    main()
