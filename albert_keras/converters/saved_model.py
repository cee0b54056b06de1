"""SavedModels with Google's variable names, as from TF-Hub or TensorFlow Serving.

Only the variables are read; the graph is not run. It has no hyperparameters, so the
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
    found = (path / "saved_model.pb").is_file() and prefix.with_suffix(
        ".index"
    ).is_file()
    return prefix if found else None


def read_config(checkpoint):
    """Returns the `AlbertConfig` of the `albert_config.json` in a SavedModel's folder.

    Raises:
        FileNotFoundError: If it is absent, with the published sizes that fit.
        ValueError: If it holds an unknown key or activation.
    """
    folder = checkpoint.parent.parent
    folders = [folder, folder / "assets", folder / "assets.extra"]
    return google.read_config_file(google.find_config_file(folders, checkpoint))
