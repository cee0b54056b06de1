#!/usr/bin/env python3
"""Draws the plots of `docs/results.md` from the tables of its measurements.

Repeat it after a change of `docs/results/measurements.md`. Needs the extra `plots`.
"""

import pathlib
import re

import numpy as np

from albert_keras.analysis.figures import finish_figure, new_figure

DOCS = pathlib.Path(__file__).resolve().parents[1] / "docs"


def rows_of(title, header):
    """Returns the cells of the first table below a title whose header begins so."""
    text = (DOCS / "results" / "measurements.md").read_text("utf-8")
    _, _, text = text.partition(f" {title}\n")
    table = text[text.index(f"| {header}") :].partition("\n\n")[0]
    lines = [line.strip("| ").split(" | ") for line in table.splitlines()]
    return [lines[0], *lines[2:]]


def numbers_of(cell):
    """Returns the numbers in a cell."""
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", cell)]


def draw_speed(path):
    """Draws how many times as fast as transformers each exported form is."""
    _, *rows = rows_of("Exits of 12 layers", "times faster than")
    columns = {"1 text of SST-2": 1, "32 texts": 2}
    about = "times as fast as transformers on PyTorch, float32"
    return draw_bars(path, rows, columns, about)


def draw_scores(path):
    """Draws scores of `albert_mini_en` beside random weights and a linear model."""
    _, *rows = rows_of("albert_mini_en", "task")
    rows = [row for row in rows if len(row) == 6 and row[1]]
    columns = {"random weights": 3, "albert_mini_en": 2, "linear model on TF-IDF": 5}
    return draw_bars(path, rows, columns, "score of GLUE's task, dev rows")


def draw_bars(path, rows, columns, about):
    """Draws bars with the mean number of each cell; `columns` has places by name."""
    figure = new_figure(6.5, 1.2 + 0.22 * len(rows) * len(columns))
    axes = figure.add_subplot()
    places, height = np.arange(len(rows)), 0.8 / len(columns)
    for number, (name, column) in enumerate(columns.items()):
        lengths = [np.mean(numbers_of(row[column])) for row in rows]
        bars = axes.barh(places + height * number, lengths, 0.95 * height, label=name)
        axes.bar_label(bars, fmt="%.3g", padding=3)
    axes.set_yticks(places + 0.4 - height / 2, [row[0].split(",")[0] for row in rows])
    axes.invert_yaxis()
    axes.margins(x=0.16)
    axes.set_xlabel(about)
    figure.legend(loc="outside upper center", ncols=len(columns))
    return finish_figure(figure, path)


if __name__ == "__main__":
    draw_speed(DOCS / "assets" / "speed.png")
    draw_scores(DOCS / "assets" / "scores.png")
