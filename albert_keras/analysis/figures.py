"""Figures by matplotlib, the extra `plots`: made without a display, written whole."""

import pathlib

from albert_keras.checks import import_optional
from albert_keras.files import atomic_path

SUFFIXES = (".png", ".svg", ".pdf")


def check_image_path(path):
    """Checks, before long work, that a picture could be written to `path` at its end.

    Raises:
        ImportError: If matplotlib is not installed.
        ValueError: If the suffix is none of `SUFFIXES`.
    """
    if pathlib.Path(path).suffix not in SUFFIXES:
        raise ValueError(
            f"A picture's suffix must be one of {', '.join(SUFFIXES)}. "
            f"Received: '{path}'."
        )
    new_figure(figsize=(1, 1))


def new_figure(figsize):
    """Returns an empty matplotlib figure.

    Args:
        figsize: tuple of width and height, in inches.

    Raises:
        ImportError: If matplotlib is not installed.
    """
    figure = import_optional("matplotlib.figure", "plots")
    return figure.Figure(figsize=figsize, layout="constrained")


def save_figure(figure, path):
    """Writes a figure to `path`, whole or not at all; the suffix tells the format."""
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=150)
