"""Plot of a confusion matrix."""

import math
import pathlib
import unicodedata

import numpy as np

from albert_keras.analysis.figures import (
    families_for,
    finish_figure,
    new_figure,
    run_name,
)
from albert_keras.system.files import read_json

# Maximum number of classes for which cells show numbers.
_MOST_COUNTED = 20
# Inches: cells with and without a number; sides of the matrix.
_CELL, _SMALL_CELL = 0.5, 0.2
_SHORTEST_SIDE, _MEDIUM_SIDE, _LONGEST_SIDE = 2, 4, 40
# Maximum number of characters of a name.
_LONGEST_NAME = 32


def plot_confusion_matrix(source, image_path=None):
    """Draws a confusion matrix: rows are true classes, columns are predicted classes.

    Colors are shares of a row, so that rare classes are visible; numbers are examples.

    Args:
        source: Folder of a fine-tuning run, or its `report.json`, str or path; or a dict
            of `labels`, a list of str, and `confusion_matrix`, counts with a row for each
            true class and a column for each predicted class.
        image_path: str, path or None. File to write; its suffix is the format, `.png`,
            `.svg` or `.pdf`.

    Returns:
        `matplotlib.figure.Figure`, which a notebook shows as the last value of a cell.

    Raises:
        FileNotFoundError: If the run has no report.
        ValueError: If the report has no confusion matrix, or the suffix is unknown.
        ImportError: If matplotlib is absent (the extra `plots`).

    Example:

    ```python
    ak.analysis.plot_confusion_matrix("runs/sst2")
    counts = sklearn.metrics.confusion_matrix(classes, predicted_classes)
    measured = {"labels": names, "confusion_matrix": counts}
    ak.analysis.plot_confusion_matrix(measured, "plot.svg")
    ```
    """
    names, counts, title = _read(source)
    num_examples = counts.sum()
    accuracy = np.trace(counts) / max(1, num_examples)
    title += f"\naccuracy {accuracy:.1%} of {num_examples:,} examples"
    families = families_for(title, *names)
    longest = max(map(_width, names))
    cell = _CELL if len(names) <= _MOST_COUNTED else _SMALL_CELL
    cell = max(cell, min(longest + 0.2, _MEDIUM_SIDE / len(names)))
    is_slanted = longest + 0.1 > cell
    side = min(max(len(names) * cell, _SHORTEST_SIDE), _LONGEST_SIDE)
    title_width = 1.2 * max(map(_width, title.split("\n")))
    width = max(longest + side + 1.6, title_width + 0.3)
    figure = new_figure(width, 1.5 + side + (longest * 0.7 if is_slanted else 0))
    figure.suptitle(title, fontfamily=families, fontsize=12, parse_math=False)
    axes = figure.subplots()
    shares = counts / np.maximum(1, counts.sum(axis=1, keepdims=True))
    image = axes.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0)
    # An inset is exactly as high as the matrix.
    bar = axes.inset_axes([1 + 0.1 / side, 0, 0.15 / side, 1])
    figure.colorbar(image, cax=bar, label="share of the true class")
    axes.set_ylabel("true")
    axes.set_xlabel("predicted")
    _name_classes(axes, names, families, is_slanted)
    if len(names) <= _MOST_COUNTED:
        for (row, column), count in np.ndenumerate(counts):
            color = "white" if shares[row, column] > 0.5 else "black"
            axes.text(column, row, count, ha="center", va="center", color=color)
    return finish_figure(figure, image_path)


def _read(source):
    """Returns names of classes, counts and a title."""
    title, report = "Confusion matrix", source
    if not isinstance(source, dict):
        path = pathlib.Path(source)
        path = path / "report.json" if path.is_dir() else path
        title, report = f"{title} of {run_name(path.parent)}", read_json(path)
    if "confusion_matrix" not in report:
        raise ValueError(
            "A report must have `labels` and `confusion_matrix`, like those of "
            f"classifiers. Received: {source!r}, with {', '.join(report)}."
        )
    names = [
        n if len(n) <= _LONGEST_NAME else f"{n[:19]}…{n[-12:]}"
        for n in report["labels"]
    ]
    return names, np.asarray(report["confusion_matrix"]), title


def _width(text):
    """Returns the approximate width of a text in inches, for 10 points."""
    num_wide = sum(unicodedata.east_asian_width(c) in "FW" for c in text)
    return 0.085 * (len(text) + num_wide)


def _name_classes(axes, names, families, is_slanted):
    # There is no room for very many names.
    every = math.ceil(len(names) * _SMALL_CELL / _LONGEST_SIDE)
    places = range(0, len(names), every)
    # Names may contain dollar signs.
    style = {"fontfamily": families, "parse_math": False}
    axes.set_yticks(places, names[::every], **style)
    if is_slanted:
        style |= {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    axes.set_xticks(places, names[::every], **style)
