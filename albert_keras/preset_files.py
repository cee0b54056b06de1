"""The Keras classes that the files of a preset name."""

import pathlib

from albert_keras.files import read_json

# keras-hub's classes, and those from when it was called keras-nlp.
_OF_KERAS_HUB = ("keras_hub>", "keras_nlp>")


def registered_name(folder, file_name="config.json"):
    """Returns the registered name of the class in a file of a preset, or `None`.

    `"config.json"` has the class of the backbone, `"task.json"` that of a model with a
    head, `"tokenizer.json"` that of the tokenizer.
    """
    file = pathlib.Path(folder, file_name)
    name = read_json(file).get("registered_name") if file.is_file() else None
    return name if isinstance(name, str) else None


def is_own(folder, file_name="config.json"):
    """Returns whether a file of a preset is of this package, or of a user's subclass.

    Hugging Face's files of these names have no registered class.
    """
    name = registered_name(folder, file_name)
    return name is not None and not name.startswith(_OF_KERAS_HUB)


def registered_class(folder, file_name):
    """Returns the registered Keras class in a file of a preset, or `None`."""
    import keras

    return keras.saving.get_registered_object(registered_name(folder, file_name))
