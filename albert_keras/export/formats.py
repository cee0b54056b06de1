"""An exported model of either format, told from its files and loaded."""

import pathlib

from albert_keras.export.saved_model import GRAPH_FILE, load_saved_model
from albert_keras.export.tflite import load_tflite


def is_exported(path):
    """Tells whether `path` is a file, as of TFLite, or a SavedModel's folder."""
    path = pathlib.Path(path)
    return path.is_file() or (path / GRAPH_FILE).is_file()


def load_predictor(path):
    """Loads a SavedModel or a TFLite file that takes text.

    Args:
        path: str or path.

    Returns:
        `TextPredictor`.

    Raises:
        ValueError: If it is neither, or does not take text.
    """
    load = load_tflite if pathlib.Path(path).is_file() else load_saved_model
    return load(path)
