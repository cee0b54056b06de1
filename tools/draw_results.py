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
    figure = new_figure(6.5, 3.4)
    axes = figure.add_subplot()
    places = np.arange(len(rows))
    for place, name in enumerate(("1 text of SST-2", "32 texts")):
        factors = [numbers_of(row[1 + place])[0] for row in rows]
        bars = axes.barh(places + 0.4 * place, factors, 0.38, label=name)
        axes.bar_label(bars, padding=3)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_yticks(places + 0.2, [row[0] for row in rows])
    axes.invert_yaxis()
    axes.margins(x=0.16)
    axes.set_xlabel("times as fast as transformers on PyTorch, float32")
    figure.legend(loc="outside upper center", ncols=2)
    return finish_figure(figure, path)


def draw_scores(path):
    """Draws scores of `albert_mini_en` beside random weights and a linear model."""
    _, *rows = rows_of("albert_mini_en", "task")
    rows = [row for row in rows if len(row) == 6 and row[1]]
    figure = new_figure(6.5, 3.4)
    axes = figure.add_subplot()
    places = np.arange(len(rows))
    names = ("random weights", "albert_mini_en", "linear model on TF-IDF")
    for place, (name, column) in enumerate(zip(names, (3, 2, 5), strict=True)):
        scores = [np.mean(numbers_of(row[column])) for row in rows]
        axes.bar(places + 0.28 * place, scores, 0.26, label=name)
    axes.set_xticks(places + 0.28, [row[0].partition(",")[0] for row in rows])
    axes.set_ylabel("score of GLUE's task, dev rows")
    figure.legend(loc="outside upper center", ncols=3)
    return finish_figure(figure, path)


if __name__ == "__main__":
    draw_speed(DOCS / "assets" / "speed.png")
    draw_scores(DOCS / "assets" / "scores.png")
