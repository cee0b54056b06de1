"""SavedModels with Google's variable names, as from TF-Hub or TensorFlow Serving.

Only the variables are read; the graph is not executed. It has no hyperparameters, so the
config must be in the folder or its `assets`, or be passed.
"""

import pathlib

from albert_keras.converters import google

BACKBONE_ROWS = google.BACKBONE_ROWS
LAYOUTS = ("google", "served")

read_tensors = google.read_tensors
is_known_extra = google.is_known_extra


def find_checkpoint(path):
    """Returns the prefix of a SavedModel's variables, or `None`."""
    path = pathlib.Path(path)
    prefix = path / "variables" / "variables"
    files = (path / "saved_model.pb", prefix.with_suffix(".index"))
    return prefix if all(file.is_file() for file in files) else None


def read_config(checkpoint):
    """Returns the `AlbertConfig` of the `albert_config.json` in a SavedModel's folder."""
    folder = checkpoint.parent.parent
    folders = [folder, folder / "assets", folder / "assets.extra"]
    return google.read_config_file(google.find_config_file(folders, checkpoint))
