"""Matplotlib figures (the extra `plots`), drawn without a display."""

import contextlib
import pathlib

from albert_keras.checks import import_optional
from albert_keras.files import atomic_path

SUFFIXES = (".png", ".svg", ".pdf")


def check_image_path(path):
    """Raises an error if matplotlib is absent or the suffix not one of `SUFFIXES`."""
    if pathlib.Path(path).suffix not in SUFFIXES:
        raise ValueError(
            f"The suffix of an image must be one of {', '.join(SUFFIXES)}. "
            f"Received: '{path}'."
        )
    import_optional("matplotlib.figure", "plots")


@contextlib.contextmanager
def open_figure(path, figsize):
    """Yields a figure of a size in inches, and writes it if the block has no error.

    The file (see `check_image_path`) is complete or absent.
    """
    figure = import_optional("matplotlib.figure", "plots").Figure(
        figsize=figsize, layout="constrained"
    )
    yield figure
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=150)
