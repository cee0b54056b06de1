"""Learning curves of a run, from its log."""

import json
import pathlib

from albert_keras.analysis.figures import open_figure

# Label of each panel, and the suffix of the names of its curves.
PANELS = {
    "loss (nats)": "loss",
    "accuracy": "accuracy",
    "learning rate": "learning_rate",
    "gradient norm": "gradient_norm",
}


def read_log(path):
    """Reads the `log.jsonl` of a run.

    Returns:
        Dict from a field's name to two lists, steps and values. Fields that begin with
        `val_` were measured on the held-out set. Of steps logged twice, as by a resumed
        run, the later entry counts.
    """
    series = {}
    for line in pathlib.Path(path).read_text("utf-8").splitlines():
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:
            continue  # A full disk or a killed run may cut off the last line.
        for name, value in entry.items():
            series.setdefault(name, {})[entry["step"]] = value
    return {
        name: (sorted(values), [values[step] for step in sorted(values)])
        for name, values in series.items()
    }


def plot_learning_curve(log_path, image_path):
    """Draws the training and held-out curves of a run over its steps from `log.jsonl`.

    One panel below the other: losses, accuracies, learning rate, and gradient norm (with
    a logarithmic axis), if the log has them. The suffix of `image_path` decides the
    format; see `check_image_path`.
    """
    series = read_log(log_path)
    panels = {
        label: names
        for label, suffix in PANELS.items()
        if (names := [n for n in series if _is_training(n) and n.endswith(suffix)])
    }
    num_rows = max(1, len(panels))
    with open_figure(image_path, figsize=(7, 1 + 2.5 * num_rows)) as figure:
        rows = figure.subplots(num_rows, sharex=True, squeeze=False)[:, 0]
        for axes, (label, names) in zip(rows, panels.items(), strict=False):
            _draw(axes, series, names)
            axes.set_ylabel(label)
            if names == ["gradient_norm"]:
                axes.set_yscale("log")
        rows[-1].set_xlabel("step")


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
