"""SavedModels with Google's variable names, as from TF-Hub or TensorFlow Serving.

Only the variables are read; the graph is not run. It has no hyperparameters, so the
config must be in the folder or its `assets`, or be passed.
"""

import pathlib

from albert_keras.converters import google
from albert_keras.converters.name_table import Row

BACKBONE_ROWS = google.BACKBONE_ROWS
# Names in a classifier that is served as chinanews_albert.
_SERVED_CLASSIFIER_ROWS = (
    Row("transfer/dense/kernel", "logits/kernel"),
    Row("transfer/dense/bias", "logits/bias"),
)

read_head = google.read_head
read_head_options = google.read_head_options
read_tensors = google.read_tensors
is_known_extra = google.is_known_extra


def head_rows(head):
    """Returns the `Row`s of a head; see `google.head_rows`."""
    is_classifier = head == "sequence_classification"
    return google.head_rows(head) + (_SERVED_CLASSIFIER_ROWS if is_classifier else ())


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
