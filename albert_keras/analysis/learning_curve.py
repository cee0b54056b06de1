"""The course of a run as a picture, from its log."""

import json
import pathlib

from albert_keras.analysis.figures import new_figure, save_figure

# Labels of axes, from how the names of what they show end.
PANELS = {
    "loss (nats)": "loss",
    "accuracy": "accuracy",
    "learning rate": "learning_rate",
    "gradient norm": "gradient_norm",
}


def read_log(path):
    """Reads the `log.jsonl` of a run.

    Args:
        path: str or path.

    Returns:
        Dict from a field's name to two lists, steps and values; fields that begin with
        `val_` were measured on held-out data. Of steps logged twice, as by a run that
        was stopped and resumed, the later entry counts.
    """
    series = {}
    for line in pathlib.Path(path).read_text("utf-8").splitlines():
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:
            continue  # What a full disk or a killed run leaves of its last line.
        for name, value in entry.items():
            series.setdefault(name, {})[entry["step"]] = value
    return {
        name: (sorted(values), [values[step] for step in sorted(values)])
        for name, values in series.items()
    }


def plot_learning_curve(log_path, image_path):
    """Draws the curves of a run over its steps, training and held-out.

    One below the other: losses, accuracies, learning rate, and gradient norm (on a
    logarithmic axis), as far as the log has them.

    Args:
        log_path: str or path. The run's `log.jsonl`.
        image_path: str or path. The picture to write; the suffix tells the format.

    Raises:
        ImportError: If matplotlib is not installed.
    """
    series = read_log(log_path)
    panels = {
        label: names
        for label, suffix in PANELS.items()
        if (names := [n for n in series if _is_training(n) and n.endswith(suffix)])
    }
    num_rows = max(1, len(panels))
    figure = new_figure(figsize=(7, 1 + 2.5 * num_rows))
    rows = figure.subplots(num_rows, sharex=True, squeeze=False)[:, 0]
    for axes, (label, names) in zip(rows, panels.items(), strict=False):
        _draw(axes, series, names)
        axes.set_ylabel(label)
        if names == ["gradient_norm"]:
            axes.set_yscale("log")
    rows[-1].set_xlabel("step")
    save_figure(figure, image_path)


def _is_training(name):
    return not name.startswith("val_")


def _draw(axes, series, names):
    for index, name in enumerate(names):
        axes.plot(*series[name], color=f"C{index}", label=name)
        if f"val_{name}" in series:
            held_out = series[f"val_{name}"]
            axes.plot(*held_out, "o--", color=f"C{index}", label=f"{name}, held out")
    axes.grid(alpha=0.3)
    if len(axes.lines) > 1:
        axes.legend()
