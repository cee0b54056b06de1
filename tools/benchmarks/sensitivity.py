#!/usr/bin/env python3
"""Measures what a fine-tuned run loses when it is cut, quantized or pruned.

- Depth: the run's exits at each depth, or without exits its first layers alone, with the
  head that was trained on the last one.
- Quantization: TFLite files, which begin with text. Their cost is the difference from the
  file in float32.
- Attention heads: each masked alone; then one after another, those first that cost least
  alone. Layers that share their attention share its heads, and a head is masked in all of
  them.

example:
  tools/benchmarks/sensitivity.py runs/sst2 --data SST-2/dev.tsv --plot sensitivity.png

Reference: Michel et al. 2019, Are sixteen heads really better than one?
"""

import argparse
import contextlib
import pathlib
import sys
import tempfile
from typing import Any, NamedTuple

from keras import ops

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from albert_keras.analysis.figures import (
    families_for,
    finish_figure,
    new_figure,
    run_name,
)
from albert_keras.checks import import_optional
from albert_keras.compression import EarlyExit, ExitRule
from albert_keras.export import load_exported
from albert_keras.export.signatures import text_preprocessor
from albert_keras.runs.inference import load_finetuned
from albert_keras.runs.reporting import note
from albert_keras.runs.rows import read_rows
from albert_keras.system.files import write_json
from albert_keras.tasks.text_classification.task import TextTask
from tools.benchmarks.pareto import EXPORTED, exported_prediction

# Forms of `EXPORTED`, of which the first is what the others are compared with.
QUANTIZED = ("TFLite float32", "TFLite float16", "TFLite int8")


def main(argv=None):
    """Prints the costs; writes them as JSON and draws them where that is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", help="run of `finetune` or `distill`")
    parser.add_argument("--data", required=True, help="rows with labels")
    parser.add_argument("--output", help="JSON file to write (default: none)")
    parser.add_argument("--plot", help="picture to write (default: none)")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument(
        "--no-quantize", action="store_true", help="leave the TFLite files out"
    )
    arguments = parser.parse_args(argv)
    results = measure(arguments)
    print(f"whole model, {results['num_rows']:,} rows: {results['score']:.4g}")
    for name, each in named_costs(results):
        score = f"{each['score']:.4g} {results['metric']}"
        print(f"{name}: {score}, cost {each['cost']:+.4g}")
    if arguments.output:
        write_json(arguments.output, results)
    if arguments.plot:
        finish_figure(plot(results), arguments.plot)


def named_costs(results):
    """Yields the name of each variant, and its results."""
    for each in results["depths"][:-1]:
        yield f"cut at layer {each['depth']}", each
    for each in results["quantization"]:
        yield each["name"], each
    for each in results["heads"]:
        layers = ", ".join(map(str, each["layers"]))
        yield f"without head {each['head']} of layer {layers}", each
    for each in results["pruned"][1:]:
        yield f"without {each['num_heads']} heads", each


def measure(arguments):
    """Measures the score of a run that is cut, quantized or pruned.

    Returns:
        Dict: `run`, `metric`, `num_rows`, `score` at full depth, `has_exits`; and lists
        of dicts with `score` and `cost`, the score that is lost: `depths` with `depth`;
        `quantization` with `name` and `bytes`; `heads` with `layers` and `head`; and
        `pruned` with `num_heads`, and `layers` and `head` of the last one masked.
    """
    run = load_finetuned(arguments.run)
    measured = Measured(run, read_rows(run.task, arguments.data), arguments.batch_size)
    full = measured.at_depth(run.model.backbone.num_layers)
    heads, pruned = prune(measured, full)
    files = [] if arguments.no_quantize else quantize(measured, arguments.run)
    return {
        "run": run_name(arguments.run),
        "metric": run.task.main_metric,
        "num_rows": len(run.task.text_keys(measured.prepared.rows)),
        "score": full,
        "has_exits": measured.has_exits,
        "depths": cut(measured, full),
        "quantization": files,
        "heads": heads,
        "pruned": pruned,
    }


class Measured:
    """A run and the rows that its variants are scored on."""

    def __init__(self, run, rows, batch_size):
        self.run, self.batch_size = run, batch_size
        self.prepared = run.task.prepare(rows)
        self.has_exits = hasattr(run.model, "exit_logits")
        # By depth, so that each is compiled once.
        self.cuts = {}

    def at_depth(self, depth):
        """Returns the score of the model that is cut at a depth, from 1."""
        task, model = self.run
        if depth not in self.cuts:
            rule = ExitRule("fixed_depth", min_depth=depth)
            is_exit = self.has_exits
            self.cuts[depth] = (
                EarlyExit(model, rule) if is_exit else ShallowModel(model, depth)
            )
        if self.has_exits:
            predicted = self.run.predict_rows(
                self.prepared, self.batch_size, self.cuts[depth]
            )
            return self.score(self.prepared, predicted.predictions)
        predictions = task.predict(self.cuts[depth], self.prepared, self.batch_size)
        return self.score(self.prepared, predictions)

    def score(self, prepared, predictions):
        """Returns the task's own metric of predictions."""
        task = self.run.task
        return float(task.score(prepared, predictions)[task.main_metric])


def cut(measured, full):
    num_layers = measured.run.model.backbone.num_layers
    scores = [*map(measured.at_depth, range(1, num_layers)), full]
    return [
        {"depth": depth, "score": score, "cost": full - score}
        for depth, score in enumerate(scores, start=1)
    ]


def quantize(measured, folder):
    task, model = measured.run
    if not isinstance(task, TextTask) or text_preprocessor(model) is None:
        note(
            f"'{folder}' is measured without TFLite files: they are of classifiers and "
            "regressions of the beginnings of texts"
        )
        return []
    found = []
    with tempfile.TemporaryDirectory() as temporary:
        for name in QUANTIZED:
            _, write, options = EXPORTED[name]
            path = pathlib.Path(temporary, name)
            num_bytes = write(model, path, **options).num_bytes
            predict = exported_prediction(
                task, load_exported(path), measured.batch_size
            )
            prepared, predictions, _ = predict(measured.prepared.rows)
            score = measured.score(prepared, predictions)
            cost = found[0]["score"] - score if found else 0.0
            found.append(
                {"name": name, "bytes": num_bytes, "score": score, "cost": cost}
            )
    return found


def prune(measured, full):
    """Returns the scores without each head, and without more and more of them."""
    backbone = measured.run.model.backbone
    heads = attention_heads(backbone)

    def without(masked):
        with masked_heads(masked):
            score = measured.at_depth(backbone.num_layers)
        last = {"layers": list(masked[-1].layers), "head": masked[-1].head}
        return {**last, "score": score, "cost": full - score}

    alone = [without([head]) for head in heads]
    order = sorted(range(len(heads)), key=lambda place: alone[place]["cost"])
    # The first one was measured alone.
    pruned = [{"num_heads": 1, **alone[order[0]]}]
    for number in range(2, len(heads) + 1):
        masked = [heads[place] for place in order[:number]]
        pruned.append({"num_heads": number, **without(masked)})
    return alone, pruned


class AttentionHead(NamedTuple):
    """An attention head, which all layers have in common that share its weights.

    Attributes:
        attention: `SelfAttention` that the head is part of.
        layers: Tuple of int. Numbers of the layers that apply it, from 1.
        head: int. Its number, from 1.
    """

    attention: Any
    layers: tuple
    head: int


def attention_heads(backbone):
    """Returns the `AttentionHead`s of a backbone, each once, by layer.

    Args:
        backbone: `AlbertBackbone`.

    Example:

    >>> from albert_keras.models import AlbertBackbone
    >>> backbone = AlbertBackbone.from_config_preset("albert_test")
    >>> [(head.layers, head.head) for head in attention_heads(backbone)]
    [((1, 2), 1), ((1, 2), 2), ((1, 2), 3)]
    """
    layers = {}
    for number, encoder in enumerate(backbone.encoders, start=1):
        layers.setdefault(encoder.attention, []).append(number)
    num_heads = backbone.albert_config.num_heads
    return [
        AttentionHead(attention, tuple(numbers), head)
        for attention, numbers in layers.items()
        for head in range(1, num_heads + 1)
    ]


@contextlib.contextmanager
def masked_heads(heads):
    """Takes attention heads out of their model until the context ends.

    The rows of the output projection that read a head are 0 meanwhile, so that nothing
    of it reaches the next sub-layer. Programs that are compiled already need not be
    compiled again.

    Args:
        heads: List of `AttentionHead`.

    Example:

    ```python
    with masked_heads(attention_heads(model.backbone)[:2]):
        model.evaluate(dataset)
    ```

    Reference: Michel et al. 2019, Are sixteen heads really better than one?
    """
    kernels = {id(h.attention): h.attention.projection.kernel for h in heads}
    before = {key: ops.convert_to_numpy(kernels[key]).copy() for key in kernels}
    masked = {key: kernel.copy() for key, kernel in before.items()}
    for head in heads:
        kernel = masked[id(head.attention)]
        size = len(kernel) // head.attention.albert_config.num_heads
        kernel[(head.head - 1) * size : head.head * size] = 0
    try:
        for key, kernel in masked.items():
            kernels[key].assign(kernel)
        yield
    finally:
        for key, kernel in before.items():
            kernels[key].assign(kernel)


class ShallowModel:
    """A model that applies its first layers alone, with the head of its full depth.

    Args:
        model: A fine-tuned model of this package.
        num_layers: int. Layers that are applied.

    Call arguments:
        features: Dict of the model's inputs, tensors or arrays.

    Output shape:
        As the model.
    """

    def __init__(self, model, num_layers):
        self.model = model
        self.depth = num_layers * model.backbone.albert_config.num_inner_repetitions

    def __call__(self, features, training=False):
        stack = self.model.backbone.encoder_stack
        before, stack.depth = stack.depth, self.depth
        try:
            return self.model(features, training=training)
        finally:
            stack.depth = before


def plot(results):
    """Draws the scores; the dotted lines are that of the whole model."""
    panels = [draw_depths, draw_heads, draw_pruned]
    if results["quantization"]:
        panels.insert(1, draw_quantization)
    num_rows = -(-len(panels) // 2)
    figure = new_figure(10, 0.6 + 3.2 * num_rows)
    # Each with its own scale: a head costs less than a layer.
    grid = figure.subplots(num_rows, 2, squeeze=False)
    for axes, draw in zip(grid.flat, panels, strict=False):
        axes.axhline(results["score"], color="0.4", linestyle=":", linewidth=1.2)
        draw(axes, results)
        axes.grid(axis="y", alpha=0.3)
    for spare in grid.flat[len(panels) :]:
        spare.remove()
    for axes in grid[:, 0]:
        axes.set_ylabel(results["metric"])
    figure.suptitle(
        f"{results['run']}: {results['metric']} of {results['num_rows']:,} rows, "
        f"{results['score']:.4g} whole (dotted)",
        fontsize=11,
        fontfamily=families_for(results["run"]),
        parse_math=False,
    )
    return figure


def scores_of(found):
    return [each["score"] for each in found]


def whole_numbers(axes):
    ticker = import_optional("matplotlib.ticker", "plots")
    axes.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))


def draw_depths(axes, results):
    depths = [each["depth"] for each in results["depths"]]
    axes.plot(depths, scores_of(results["depths"]), "o-", color="0.15", markersize=5)
    axes.set_xlabel("layers applied")
    how = "exits" if results["has_exits"] else "the last layer's head"
    axes.set_title(f"Cut at a depth, with {how}", fontsize=10)
    whole_numbers(axes)


def draw_quantization(axes, results):
    found = results["quantization"]
    places = range(len(found))
    axes.plot(places, scores_of(found), "s", color="0.15", markersize=6)
    names = [f"{each['name']}\n{each['bytes'] / 1e6:.2f} MB" for each in found]
    axes.set_xticks(places, names, fontsize=8)
    axes.margins(x=0.25)
    axes.set_title("Quantized", fontsize=10)


def draw_heads(axes, results):
    found = results["heads"]
    places = range(1, len(found) + 1)
    axes.plot(places, scores_of(found), "^", color="0.15", markersize=5)
    axes.set_xlabel("head, by layers that share it")
    if len(found) <= 16:
        axes.set_xticks(places, [name_of(head) for head in found], fontsize=8)
    else:
        whole_numbers(axes)
    axes.set_title("One attention head masked", fontsize=10)


def name_of(head):
    first, last = head["layers"][0], head["layers"][-1]
    layers = f"{first}" if first == last else f"{first}-{last}"
    return f"{head['head']}\n({layers})"


def draw_pruned(axes, results):
    numbers = [0, *(each["num_heads"] for each in results["pruned"])]
    scores = [results["score"], *scores_of(results["pruned"])]
    axes.plot(numbers, scores, "v-", color="0.15", markersize=5)
    axes.set_xlabel("heads masked, the cheapest first")
    axes.set_title("More and more attention heads masked", fontsize=10)
    whole_numbers(axes)


if __name__ == "__main__":
    main()
