"""Matplotlib figures (the extra `plots`), drawn without a display."""

import contextlib
import pathlib

from albert_keras.checks import import_optional
from albert_keras.files import atomic_path

SUFFIXES = (".png", ".svg", ".pdf")


def check_image_path(path):
    """Checks, before long work, that an image can be written to a path.

    Raises:
        ImportError: If matplotlib is not installed.
        ValueError: If the suffix is not one of `SUFFIXES`.
    """
    if pathlib.Path(path).suffix not in SUFFIXES:
        raise ValueError(
            f"The suffix of an image must be one of {', '.join(SUFFIXES)}. "
            f"Received: '{path}'."
        )
    import_optional("matplotlib.figure", "plots")


@contextlib.contextmanager
def open_figure(path, figsize):
    """Yields an empty figure, and writes it if the block ends without an error.

    Args:
        path: str or path. The suffix decides the format. The file is complete or absent.
        figsize: Tuple of width and height, in inches.

    Raises:
        ImportError: If matplotlib is not installed.
    """
    figure = import_optional("matplotlib.figure", "plots").Figure(
        figsize=figsize, layout="constrained"
    )
    yield figure
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=150)
