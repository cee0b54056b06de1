"""Files beside the graph of an exported model: labels, and the preprocessor of ids."""

import pathlib
import typing

import keras
import keras_hub

from albert_keras.files import write_json
from albert_keras.models.classes import is_multi_label
from albert_keras.preset_files import registered_class

LABELS_FILE = "labels.txt"
# Used for multi-label models.
MULTI_LABELS_FILE = "multi_labels.txt"
PREPROCESSOR_FILE = "preprocessor.json"


class Exported(typing.NamedTuple):
    """An exported model: the path of the folder or file, and its bytes on disk."""

    path: pathlib.Path
    num_bytes: int


def measured(path):
    """Returns the `Exported` of a folder or file that was written."""
    path = pathlib.Path(path)
    files = [file for file in (path, *path.rglob("*")) if file.is_file()]
    return Exported(path, sum(file.stat().st_size for file in files))


def write_associated_files(folder, model, labels=None, preprocessor=None):
    """Writes the labels of a model, and a preprocessor as a preset without weights."""
    if labels is not None or preprocessor is not None:
        pathlib.Path(folder).mkdir(exist_ok=True)
    if labels is not None:
        name = MULTI_LABELS_FILE if is_multi_label(model) else LABELS_FILE
        pathlib.Path(folder, name).write_text("\n".join(labels), "utf-8")
    if preprocessor is not None:
        # Without the backbone's config keras-hub does not read a folder as a preset.
        config = keras.saving.serialize_keras_object(getattr(model, "backbone", model))
        write_json(pathlib.Path(folder, "config.json"), config)
        preprocessor.save_to_preset(str(folder))


def read_labels(folder):
    """Returns the labels that were written to a folder, and whether several may hold.

    The labels are a list, or `None` if there are none.
    """
    for name in (LABELS_FILE, MULTI_LABELS_FILE):
        file = pathlib.Path(folder, name)
        if file.is_file():
            return file.read_text("utf-8").split("\n"), name == MULTI_LABELS_FILE
    return None, False


def is_of_texts(folder):
    """Returns whether the preprocessor in a folder makes all inputs from texts.

    Without its file, which earlier versions did not write, it does.
    """
    saved = registered_class(folder, PREPROCESSOR_FILE)
    text_preprocessor = keras_hub.models.TextClassifierPreprocessor
    return saved is None or issubclass(saved, text_preprocessor)
