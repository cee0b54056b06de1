"""Table and picture of an ablation, with the paper's numbers beside."""

import statistics

from albert_keras.analysis.arms import (
    describe_difference,
    draw_differences,
    standard_error,
)
from albert_keras.analysis.figures import finish_figure, line_style, new_figure

# Unit and scale of a measure in the table and the picture.
_SCALES = {"mlm_loss": ("nats", 1, 3), "mlm_loss_pairs": ("nats", 1, 3)}
_POINTS = ("points", 100, 1)


def ablation_table(results):
    """Returns the comparison of an ablation as Markdown: a row for each arm.

    `results` are those of `AblationRun.run`.
    """
    base, measures = results["base"], results["measures"]
    heads = ["arm", "variant", "steps", "seeds"]
    in_paper = results["paper_measured"]
    for measure, title in measures.items():
        heads += [title, f"less {base}"]
        heads += ["in the paper"] if measure in in_paper else []
    heads.append("paper")
    lines = [f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads)]
    for arm, about in results["arms"].items():
        found = results["compared"].get(arm, {})
        steps = f"{results['steps'][arm]:,}" if arm in results["steps"] else "-"
        cells = [arm, about, steps, str(found.get("seeds", "-"))]
        for measure in measures:
            _, scale, digits = _SCALES.get(measure, _POINTS)
            unit = "" if measure in _SCALES else " %"
            cells += describe_difference(found.get(measure), scale, digits, unit)
            if measure in in_paper:
                number = in_paper[measure].get(arm)
                cells.append("-" if number is None else f"{number} %")
        cells.append(str(results["paper"].get(arm, "-")))
        lines.append(f"| {' | '.join(cells)} |")
    table = "\n".join(lines) + "\n"
    notes = [*results["notes"]]
    if results["source"]:
        notes.insert(0, f"Paper: {results['source']}; {results['paper_unit']}.")
    return table + "".join(f"\n{note}\n" for note in notes)


def plot_ablation(results, image_path=None):
    """Draws an ablation: differences from the base with error bars, and curves.

    Args:
        results: What `AblationRun.run` returns, or its `ablation.json`.
        image_path: str, path or None. File to write; its suffix is the format, `.png`,
            `.svg` or `.pdf`.

    Returns:
        `matplotlib.figure.Figure`, which a notebook shows as the last value of a cell.
        Above: mean differences from the base and their standard errors, and those of the
        paper, if another arm than the base has left the loss of unigrams. Below: held-out
        loss of each arm while it trains, the mean over seeds with its standard error, and
        the loss of unigrams.

    Raises:
        ValueError: If no arm could be compared, or the suffix is another.
        ImportError: If matplotlib is absent (the extra `plots`).

    Example:

    ```python
    results = pathlib.Path("ablations/sharing/ablation.json").read_text()
    ak.plot_ablation(json.loads(results))
    ```
    """
    if not results["compared"]:
        raise ValueError(
            "An ablation is drawn when its base has learned more than the frequencies "
            f"of pieces. Received: {results['name']}, without. Give it more minutes."
        )
    arms = [arm for arm in results["compared"] if arm != results["base"]]
    measures = [m for m in results["measures"] if m != "mlm_accuracy"]
    in_paper = results["base"] in results["paper"] and results["paper"].keys() & {*arms}
    panels = [*measures, "paper"] if in_paper else measures
    figure = new_figure(max(8, 3.1 * len(panels) + 1), 5 + 0.32 * len(arms))
    below = figure
    # Where only the base has learned something, there is no difference to draw.
    if arms:
        heights = (1.3 + 0.32 * len(arms), 3.7)
        above, below = figure.subfigures(2, 1, height_ratios=heights)
        _draw_panels(above.subplots(1, len(panels), squeeze=False)[0], results, arms)
    curves = below.subplots()
    _draw_curves(curves, results)
    handles, labels = curves.get_legend_handles_labels()
    ncols = 4 if len(labels) > 6 else len(labels)
    figure.legend(handles, labels, loc="outside lower center", ncols=ncols)
    seeds = max(found["seeds"] for found in results["compared"].values())
    figure.suptitle(
        f"{results['about'].capitalize()}; {seeds} seeds, bars: standard errors",
        fontsize=11,
    )
    return finish_figure(figure, image_path)


def _draw_panels(row, results, arms):
    """Draws the differences of each measure, and those of the paper."""
    measures = [m for m in results["measures"] if m != "mlm_accuracy"]
    for axes, measure in zip(row, measures, strict=False):
        unit, scale, _ = _SCALES.get(measure, _POINTS)
        better = "less" if measure in _SCALES else "more"
        draw_differences(axes, results["compared"], arms, measure, scale)
        in_paper = results["paper_measured"].get(measure, {})
        _draw_paper(axes, in_paper, arms, results["base"])
        paper = " (◇ paper)" if in_paper else ""
        axes.set_title(results["measures"][measure] + paper, fontsize=9)
        axes.set_xlabel(
            f"{unit} from {results['base']}; {better} is better", fontsize=9
        )
    if len(row) > len(measures):
        axes, base = row[-1], results["base"]
        axes.axvline(0, color="0.6", linewidth=1)
        _draw_paper(axes, results["paper"], arms, base)
        axes.grid(axis="x", color="0.9")
        axes.set_title("paper: average of five tasks", fontsize=9)
        axes.set_xlabel(f"points from {base}; more is better", fontsize=9)
    for place, axes in enumerate(row):
        axes.set_yticks(range(len(arms)), arms if place == 0 else [""] * len(arms))
        axes.set_ylim(max(1, len(arms)) - 0.5, -0.5)
        axes.margins(x=0.15)


def _draw_paper(axes, numbers, arms, base):
    """Draws a paper's differences from the base, of the arms that it has."""
    style = {"color": "0.15", "markerfacecolor": "w", "markersize": 6}
    for y, arm in enumerate(arms):
        if arm in numbers and base in numbers:
            axes.plot(numbers[arm] - numbers[base], y, "D", **style)


def _draw_curves(axes, results):
    """Draws the mean held-out loss of each arm's seeds, by steps or core-minutes."""
    by_time = results["equal"] == "time"
    for place, (arm, curves) in enumerate(results["curves"].items()):
        points = _mean_curve(curves)
        if not points:
            continue
        steps, means, errors = zip(*points, strict=True)
        scale = results["core_seconds_per_step"][arm] / 60 if by_time else 1
        axes.errorbar(
            [scale * step for step in steps],
            means,
            errors,
            label=arm,
            markersize=4,
            capsize=2,
            linewidth=1.3,
            **line_style(place),
        )
    axes.axhline(
        results["unigram_loss"], color="0.3", linestyle=(0, (1, 3)), label="unigrams"
    )
    axes.set_xlabel("core-minutes of steps" if by_time else "step")
    axes.set_ylabel("held-out nats of a masked token")
    axes.grid(color="0.9")


def _mean_curve(curves):
    """Returns `(step, mean, standard error)` of the steps that all seeds have."""
    by_seed = [dict(zip(c["steps"], c["values"], strict=True)) for c in curves.values()]
    shared = sorted(set.intersection(*map(set, by_seed))) if by_seed else []
    points = []
    for step in shared:
        values = [curve[step] for curve in by_seed]
        points.append((step, statistics.mean(values), standard_error(values) or 0))
    return points
