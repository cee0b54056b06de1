"""The source of a checkpoint, recognized by its files, and the head in it."""

import pathlib

import keras

from albert_keras.checks import shortened
from albert_keras.converters import (
    albert_zh,
    google,
    huggingface,
    keras_hub,
    saved_model,
    sentence_transformers,
)
from albert_keras.converters.heads import head_of, head_rows, known_heads
from albert_keras.models import HEADS
from albert_keras.models.task import TaskModel
from albert_keras.presets.hub import check_known, known_names, local_files
from albert_keras.presets.preset_files import is_own, registered_class

# Each is a module with `find_checkpoint`, `read_config`, `read_tensors`, `BACKBONE_ROWS`
# and `LAYOUTS`; if the files state their head, `read_head` and `read_head_options`; if
# they may hold other variables, `is_known_extra`, and `is_outside` for those that are
# left out with a warning; if the loaded model has other sizes, `adapt_config`; if the
# format can be written, `write_checkpoint`. The first one that finds its files is used.
CONVERTERS = {
    # Before the source of the folder that it is part of.
    "sentence-transformers": sentence_transformers,
    "huggingface": huggingface,
    "keras_hub": keras_hub,
    "saved_model": saved_model,
    "albert_zh": albert_zh,
    "google": google,
}
# The name of our own presets among them.
KERAS = "keras"
SOURCES = (KERAS, *CONVERTERS)
# Files of other programs, with what makes them readable.
_OTHER_NAME = "under another name: rename it to"
_OTHER_FILES = {
    "adapter_config.json": "an adapter of PEFT alone: merge it into its model, `peft."
    "AutoPeftModelForSequenceClassification.from_pretrained(FOLDER).merge_and_unload()"
    ".save_pretrained(MERGED)`, or with the class of its task",
    "*.msgpack": "of Flax: convert it by transformers 4, `transformers.AlbertForMaskedLM."
    "from_pretrained(FOLDER, from_flax=True).save_pretrained(FOLDER)`, or by its class",
    "*.onnx": "a graph without names of weights: take the model that it was made of",
    "*.gguf": "of llama.cpp: take the model that it was made of",
    "*.index": "a part of a checkpoint: give its path without .index",
    "*.safetensors": f"{_OTHER_NAME} model.safetensors",
    "*.bin": f"{_OTHER_NAME} pytorch_model.bin",
    "*.h5": f"{_OTHER_NAME} tf_model.h5",
    "*.pt*": f"{_OTHER_NAME} pytorch_model.bin",
    "*.ckpt": "of a training program: save its weights as pytorch_model.bin, `torch.save("
    'torch.load(FILE, weights_only=True)["state_dict"], "pytorch_model.bin")`',
}


def recognise(path, source=None):
    """Returns the source of a checkpoint, recognized by its files.

    Args:
        path: str or path, as for `load_checkpoint`; or a model of keras-hub.
        source: str or `None`. The only source to try.

    Returns:
        Tuple of a name in `SOURCES`, and the argument of that source's functions.
    """
    if isinstance(path, keras.Model):
        return "keras_hub", keras_hub.find_checkpoint(path)
    check_known(path)
    path = local_files(path)
    if source in (None, KERAS) and is_own(path):
        return KERAS, pathlib.Path(path)
    for name, converter in CONVERTERS.items():
        if source in (None, name):
            checkpoint = converter.find_checkpoint(path)
            if checkpoint is not None:
                return name, checkpoint
    raise FileNotFoundError(
        "`path` must be a run (`run.json`) or a known checkpoint: Google or albert_zh "
        "(`*.index`), a SavedModel (`saved_model.pb` and `variables/`), Hugging Face "
        f"({', '.join(huggingface.WEIGHT_READERS)}), a preset (`config.json`), an "
        f"address such as hf://USER/MODEL, or a name ({known_names()}). "
        f"Received: path={str(path)!r}"
        + (f", source={source!r}" if source else "")
        + _what_is_there(pathlib.Path(path))
    )


def _what_is_there(path):
    """Returns the end of an error: the file at a path, and how it can be read."""
    inside = [path] if path.is_file() else sorted(path.iterdir())
    for folder in [path.parent, *inside]:
        if folder.is_dir() and huggingface.find_checkpoint(folder):
            return f". Give the folder that holds the weights: '{folder}'."
    inside += [file for folder in inside for file in sorted(folder.glob("*"))]
    for pattern, remedy in _OTHER_FILES.items():
        for file in inside:
            if file.match(pattern):
                return f", where '{file}' is {remedy}."
    names = ", ".join(file.name for file in inside)
    return f", which holds no weights{', but ' * bool(names)}{shortened(names)}."


def find_head(path, source=None):
    """Returns the head of a checkpoint, or `None`.

    If the files do not state their head, it is the first one that has a variable in
    them: Google's classifiers and multiple-choice models look the same. The arguments
    are those of `recognise`.
    """
    name, checkpoint = recognise(path, source)
    if name == KERAS:
        saved = registered_class(checkpoint, "task.json")
        return head_of(saved) if saved and issubclass(saved, TaskModel) else None
    converter = CONVERTERS[name]
    return head_in(converter, checkpoint, converter.read_tensors(checkpoint))


def head_in(converter, checkpoint, tensors):
    """Returns the head that the files state, or that their `StoredTensors` show."""
    stated = stated_head(converter, checkpoint)
    found = [
        head
        for head in ([stated] if stated else known_heads(converter))
        if not HEADS[head].has_weights
        or any(row.source in tensors for row in head_rows(converter, head))
    ]
    names = {row.target: row.source for row in converter.BACKBONE_ROWS}
    if names["pooler/kernel"] not in tensors:
        # A classifier without a pooler is one of tokens.
        found.sort(key=lambda head: HEADS[head].model.reads_pooled_output is not False)
    return found[0] if found else None


def stated_head(converter, checkpoint):
    """Returns the head that the files of a checkpoint state, or `None`."""
    read_head = getattr(converter, "read_head", None)
    return read_head(checkpoint) if read_head else None
