"""The course of a run as a picture: losses over steps, from its log."""

import json
import pathlib

from albert_keras.analysis.figures import new_figure, save_figure


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
    """Draws every loss of a run over its steps, training and held-out.

    Args:
        log_path: str or path. The run's `log.jsonl`.
        image_path: str or path. The picture to write; the suffix tells the format.

    Raises:
        ImportError: If matplotlib is not installed.
    """
    series = read_log(log_path)
    figure = new_figure(figsize=(7, 4))
    axes = figure.subplots()
    losses = [name for name in series if name.endswith("loss")]
    for index, name in enumerate(n for n in losses if not n.startswith("val_")):
        axes.plot(*series[name], color=f"C{index}", label=name)
        if f"val_{name}" in series:
            held_out = series[f"val_{name}"]
            axes.plot(*held_out, "o--", color=f"C{index}", label=f"{name}, held out")
    axes.set_xlabel("step")
    axes.set_ylabel("loss (nats)")
    axes.grid(alpha=0.3)
    axes.legend()
    save_figure(figure, image_path)
