"""Telling a checkpoint's source from its files, and the head that is in it."""

import pathlib

import keras

from albert_keras.converters import (
    albert_zh,
    google,
    huggingface,
    keras_hub,
    saved_model,
)
from albert_keras.files import read_json
from albert_keras.models import (
    AlbertBackbone,
    AlbertJointQuestionAnswerer,
    AlbertMultipleChoice,
    AlbertPretrainer,
    AlbertQuestionAnswerer,
    AlbertTextClassifier,
    AlbertTokenClassifier,
)
from albert_keras.models.task import registered_name
from albert_keras.shipped import SHIPPED_MODELS, find_preset

# Each is a module with `find_checkpoint`, `read_config`, `read_head`,
# `read_head_options`, `read_tensors`, `is_known_extra`, `BACKBONE_ROWS` and `HEAD_ROWS`;
# where the format can be written, with `write_checkpoint` too, and where the model that
# is loaded is of other sizes, with `adapt_config`. The first whose files are found is
# taken.
CONVERTERS = {
    "huggingface": huggingface,
    "keras_hub": keras_hub,
    "saved_model": saved_model,
    "albert_zh": albert_zh,
    "google": google,
}
# What our own presets are called among them.
KERAS = "keras"
SOURCES = (KERAS, *CONVERTERS)

MODELS = {
    None: AlbertBackbone,
    "pretraining": AlbertPretrainer,
    "sequence_classification": AlbertTextClassifier,
    "token_classification": AlbertTokenClassifier,
    "question_answering": AlbertQuestionAnswerer,
    "joint_question_answering": AlbertJointQuestionAnswerer,
    "multiple_choice": AlbertMultipleChoice,
}


def recognise(path, source=None):
    """Tells the source of a checkpoint from its files.

    Args:
        path: str or path, as for `load_checkpoint`; or a model of keras-hub.
        source: str or `None`. The only one to look for.

    Returns:
        Tuple of a name in `SOURCES`, and what that source's functions take.

    Raises:
        FileNotFoundError: If nothing known stands there.
    """
    if isinstance(path, keras.Model):
        return "keras_hub", keras_hub.find_checkpoint(path)
    path = find_preset(path)
    if source in (None, KERAS) and _is_preset(path):
        return KERAS, pathlib.Path(path)
    for name, converter in CONVERTERS.items():
        if source in (None, name):
            checkpoint = converter.find_checkpoint(path)
            if checkpoint is not None:
                return name, checkpoint
    raise FileNotFoundError(
        "`path` must be a folder or prefix of a known checkpoint: Google or albert_zh "
        "(`*.index`), a SavedModel (`saved_model.pb` and `variables/`), Hugging Face "
        f"({', '.join(huggingface.READERS)}), a preset (`config.json`), or the "
        f"name of a shipped model ({', '.join(SHIPPED_MODELS)}). "
        f"Received: path={str(path)!r}" + (f", source={source!r}." if source else ".")
    )


def find_head(path, source=None):
    """Returns the head that a checkpoint has, or `None`.

    What the files state is taken, and else the first head of which they have a
    variable: Google's classifiers and multiple-choice models look alike.

    Args:
        path: str or path, as for `load_checkpoint`; or a model of keras-hub.
        source: str or `None`. The only one to look for.

    Raises:
        FileNotFoundError: If nothing known stands there.
    """
    name, checkpoint = recognise(path, source)
    if name == KERAS:
        saved = registered_name(checkpoint, "task.json")
        names = {
            keras.saving.get_registered_name(MODELS[head]): head for head in MODELS
        }
        return names.get(saved)
    converter = CONVERTERS[name]
    stated = converter.read_head(checkpoint)
    if stated is not None:
        return stated
    tensors = converter.read_tensors(checkpoint)
    return next(
        (
            head
            for head, rows in converter.HEAD_ROWS.items()
            if any(row.source in tensors for row in rows)
        ),
        None,
    )


def head_of(model):
    """Returns the head of one of our models, a key of `MODELS`.

    Raises:
        TypeError: If it is none of ours.
    """
    for head, model_class in MODELS.items():
        if type(model) is model_class:
            return head
    names = ", ".join(model_class.__name__ for model_class in MODELS.values())
    raise TypeError(f"`model` must be one of {names}. Received: {model!r}.")


def _is_preset(path):
    file = pathlib.Path(path, "config.json")
    stated = read_json(file).get("registered_name") if file.is_file() else None
    return str(stated).startswith("albert_keras>")
