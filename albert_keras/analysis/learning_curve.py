"""Learning curves of a run or of Keras' `fit`."""

import math
import pathlib
import typing

from albert_keras.analysis.figures import (
    add_legend,
    families_for,
    finish_figure,
    new_panels,
    run_name,
)
from albert_keras.checks import import_optional
from albert_keras.pretraining.pairs import PAIR_CLASSES
from albert_keras.system.files import read_json
from albert_keras.training.logs import read_entry

# Titles of the panels, in their order.
TITLES = {
    "mlm_logits_loss": "Masked-token loss (nats)",
    "mlm_logits_accuracy": "Masked-token accuracy",
    "sop_logits_loss": "Sentence-pair loss (nats)",
    "sop_logits_accuracy": "Sentence-pair accuracy",
    "start_logits_loss": "Loss of answer starts (nats)",
    "start_logits_accuracy": "Accuracy of answer starts",
    "end_logits_loss": "Loss of answer ends (nats)",
    "end_logits_accuracy": "Accuracy of answer ends",
    "answerability_logits_loss": "Answerability loss (nats)",
    "answerability_logits_accuracy": "Answerability accuracy",
    "loss": "Loss",
    "accuracy": "Accuracy",
    "f1": "F1",
    "matthews": "Matthews correlation",
    "pearson": "Pearson correlation",
    "learning_rate": "Learning rate",
    "gradient_norm": "Gradient norm",
}
# Colors by the first word of a name. The default is the first color.
COLORS = {"sop": "C1", "end": "C1", "learning": "C2", "gradient": "C4"}
NOT_DRAWN = ("step", "seconds", "tokens_per_second")
GREY = "0.3"
TRAINING = {"linestyle": "-", "linewidth": 1.2}
HELD_OUT = {"linestyle": "--", "linewidth": 1.2, "marker": "o", "markersize": 4}


def read_log(path):
    """Reads the `log.jsonl` of a run.

    Returns:
        Dict from a field's name to two lists, steps and values. Fields that begin with
        `val_` are from the held-out set. If a step was logged twice, by a resumed run,
        the later entry counts.
    """
    series = {}
    for line in pathlib.Path(path).read_text("utf-8").splitlines():
        entry = read_entry(line) or {}
        for name, value in entry.items():
            series.setdefault(name, {})[entry["step"]] = value
    return {
        name: (sorted(values), [values[step] for step in sorted(values)])
        for name, values in series.items()
    }


def plot_learning_curve(source, image_path=None):
    """Draws training and held-out curves, a panel for each quantity.

    Args:
        source: Folder of a run, or its `log.jsonl`, str or path; or the
            `keras.callbacks.History` that `fit` returns, or its dict `history`.
        image_path: str, path or None. File to write; its suffix is the format, `.png`,
            `.svg` or `.pdf`.

    Returns:
        `matplotlib.figure.Figure`, which a notebook shows as the last value of a cell.
        It marks the best step, if the run has a `report.json`.

    Raises:
        FileNotFoundError: If the run has no log.
        ValueError: If there is nothing to draw, or the suffix is unknown.
        ImportError: If matplotlib is absent (the extra `plots`).

    Example:

    ```python
    ak.plot_learning_curve("runs/sst2")
    ak.plot_learning_curve(classifier.fit(texts, labels, epochs=3), "curve.svg")
    ```
    """
    curves = _curves_of(source)
    names = drawn_names(curves.series, curves.report.get("main_metric"))
    if not names:
        raise ValueError(
            f"A learning curve needs logged quantities. Received: {source!r}, without."
        )
    figure, panels = new_panels(len(names), curves.unit)
    families = families_for(curves.title)
    figure.suptitle(curves.title, fontfamily=families, parse_math=False)
    for axes, name in zip(panels, names, strict=True):
        _draw_panel(axes, curves, name)
    _add_legend(figure, curves, names)
    return finish_figure(figure, image_path)


class _Curves(typing.NamedTuple):
    """Series as from `read_log`, and facts about the run."""

    series: dict
    unit: str
    title: str
    report: dict
    sentence_pairs: str = "sop"


def _curves_of(source):
    history = getattr(source, "history", source)
    if isinstance(history, dict):
        longest = max(map(len, history.values()), default=0)
        epochs = [epoch + 1 for epoch in getattr(source, "epoch", range(longest))]
        series = {name: _of_epochs(epochs, history[name]) for name in history}
        return _Curves(series, "epoch", title="", report={})
    path = pathlib.Path(source)
    log = path / "log.jsonl" if path.is_dir() else path
    series = read_log(log)
    paths = (log.with_name("run.json"), log.with_name("report.json"))
    run, report = (read_json(path) if path.is_file() else {} for path in paths)
    schedule = run.get("schedule") or run.get("recipe") or {}
    if schedule.get("warmup_steps") and "learning_rate" in series:
        steps, rates = series["learning_rate"]
        series["learning_rate"] = [0, *steps], [0.0, *rates]
    title = f"Learning curves of {run_name(log.parent)}"
    pairs = run.get("examples", {}).get("sentence_pairs", "sop")
    return _Curves(series, "step", title, report, pairs)


def _of_epochs(epochs, values):
    # With `validation_freq`, `fit` validates after some epochs only.
    every = max(1, len(epochs) // max(1, len(values)))
    return [epoch for epoch in epochs if epoch % every == 0][: len(values)], values


def drawn_names(series, metric=None):
    """Returns the quantities to draw, in the order of panels.

    Args:
        series: What `read_log` returns.
        metric: str or `None`. A quantity that is drawn even without training values.
    """
    names = {n for n in series if not n.startswith("val_") and n not in NOT_DRAWN}
    if f"val_{metric}" in series:
        names.add(metric)
    if any(name.endswith("_loss") for name in names):
        # The sum of the losses of all outputs.
        names.discard("loss")
    places = {name: place for place, name in enumerate(TITLES)}
    others = places["learning_rate"] - 0.5
    return sorted(names, key=lambda name: (places.get(name, others), name))


def _draw_panel(axes, curves, name):
    color = COLORS.get(name.partition("_")[0], "C0")
    if name in curves.series:
        steps, values = curves.series[name]
        # A line through a single point is invisible.
        marker = "." if len(steps) == 1 else ""
        axes.plot(steps, values, color=color, marker=marker, **TRAINING)
        if name == "gradient_norm" and max(values) > 100 * min(values) > 0:
            axes.set_yscale("log")
    if f"val_{name}" in curves.series:
        steps, values = curves.series[f"val_{name}"]
        axes.plot(steps, values, color=color, **HELD_OUT)
        best_step = curves.report.get("best_step")
        if best_step in steps:
            best = values[steps.index(best_step)]
            label = f"best step: {best_step:,}"
            axes.plot(best_step, best, "k*", markersize=12, mfc="w", label=label)
    for label, value in _baselines(curves, name).items():
        axes.axhline(value, color=GREY, dashes=(6, 3), linewidth=1, label=label)
    style_panel(axes, name)


def style_panel(axes, name):
    """Sets the title, the grid and the number formats of a quantity's panel."""
    axes.set_title(TITLES.get(name, name.replace("_", " ").capitalize()), fontsize=10)
    axes.grid(alpha=0.3)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.locator_params("x", integer=True, nbins=6)


def _baselines(curves, name):
    """Returns values of a quantity that need no model, by label."""
    if name in ("sop_logits_loss", "sop_logits_accuracy"):
        # The last phase may have no pairs, after others that had them.
        num_classes = len(PAIR_CLASSES[curves.sentence_pairs]) or 2
        chance = 1 / num_classes
        return {"chance": chance if name.endswith("accuracy") else -math.log(chance)}
    if name == "accuracy" and "val_majority_accuracy" in curves.series:
        return {"most frequent label": curves.series["val_majority_accuracy"][1][-1]}
    return {}


def _add_legend(figure, curves, names):
    """Adds a legend below the panels."""
    line = import_optional("matplotlib.lines", "plots").Line2D
    handles = {"training": line([], [], color=GREY, **TRAINING)}
    if any(f"val_{name}" in curves.series for name in names):
        handles["held out"] = line([], [], color=GREY, **HELD_OUT)
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    place = {"loc": "outside lower center", "ncols": 3 * min(2, len(names))}
    add_legend(figure, handles.values(), handles, **place)
