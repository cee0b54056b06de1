"""Learning curves of several runs in one figure."""

import pathlib

from albert_keras.analysis.figures import (
    add_legend,
    finish_figure,
    line_style,
    new_panels,
    run_name,
)
from albert_keras.analysis.learning_curve import drawn_names, read_log, style_panel
from albert_keras.checks import check_different, import_optional
from albert_keras.system.files import read_json

_TRAINING = {"linewidth": 0.9, "alpha": 0.6, "marker": ""}
_HELD_OUT = {"linewidth": 1.5, "markersize": 4.5}


def compare_curves(folders):
    """Reads the learning curves of several runs.

    Args:
        folders: List of str or path. Folders of runs of any kind.

    Returns:
        Dict of `runs` and `quantities`. `runs` has a dict for each run, by name, with a
        dict for each quantity, of the lists `steps` and `values`; quantities of the
        held-out set begin with `val_`. `quantities` lists those to draw, in their order.

    Raises:
        FileNotFoundError: If a run has no log.
        ValueError: If two runs have the same name.

    Example:

    ```python
    curves = ak.analysis.compare_curves(["runs/shared", "runs/unshared"])
    ak.analysis.plot_comparison(curves)
    ```
    """
    names = [run_name(folder) for folder in folders]
    check_different("runs", names)
    series, quantities = {}, {}
    for name, folder in zip(names, folders, strict=True):
        log = read_log(pathlib.Path(folder) / "log.jsonl")
        report = pathlib.Path(folder) / "report.json"
        metric = read_json(report).get("main_metric") if report.is_file() else None
        quantities |= dict.fromkeys(drawn_names(log, metric))
        series[name] = {
            quantity: {"steps": steps, "values": values}
            for quantity, (steps, values) in log.items()
        }
    return {"runs": series, "quantities": list(quantities)}


def plot_comparison(results, image_path=None):
    """Draws the learning curves of several runs, a panel for each quantity.

    Args:
        results: What `compare_curves` returns.
        image_path: str, path or None. File to write; its suffix is the format, `.png`,
            `.svg` or `.pdf`.

    Returns:
        `matplotlib.figure.Figure`, which a notebook shows as the last value of a cell.
        Thin lines are from training, lines with markers from the held-out set.

    Raises:
        ValueError: If there is nothing to draw, or the suffix is unknown.
        ImportError: If matplotlib is absent (the extra `plots`).
    """
    runs, quantities = results["runs"], results["quantities"]
    if not quantities:
        raise ValueError(
            f"A comparison needs logged quantities. Received: {', '.join(runs)}, without."
        )
    figure, panels = new_panels(len(quantities), "step")
    styles = [line_style(place) for place in range(len(runs))]
    for axes, quantity in zip(panels, quantities, strict=True):
        for style, series in zip(styles, runs.values(), strict=True):
            if curve := series.get(quantity):
                axes.plot(*curve.values(), **style | _TRAINING)
            if curve := series.get(f"val_{quantity}"):
                axes.plot(*curve.values(), **style | _HELD_OUT)
        style_panel(axes, quantity)
    line = import_optional("matplotlib.lines", "plots").Line2D
    held_out = [line([], [], **style | _HELD_OUT) for style in styles]
    handles = dict(zip(runs, held_out, strict=True))
    handles["thin: training"] = line([], [], color="0.3", **_TRAINING)
    place = {"loc": "outside lower center", "ncols": 2 * min(2, len(quantities))}
    add_legend(figure, handles.values(), handles, **place)
    return finish_figure(figure, image_path)
