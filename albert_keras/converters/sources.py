"""The sources of checkpoints, which are recognized by their files."""

import pathlib

import keras

from albert_keras.checks import shortened
from albert_keras.converters import huggingface
from albert_keras.converters.albert_zh import AlbertZh
from albert_keras.converters.google import GoogleCheckpoint, SavedModel
from albert_keras.converters.huggingface import HuggingFaceFolder
from albert_keras.converters.keras_hub import KerasHubModel
from albert_keras.converters.own_preset import OwnPreset
from albert_keras.converters.sentence_transformers import SentenceTransformersFolder
from albert_keras.presets.hub import known_names, local_files

# The first one that finds its files is used. sentence-transformers comes before Hugging
# Face, whose files such a folder has too.
CONVERTERS = {
    checkpoint.source: checkpoint
    for checkpoint in (
        *(OwnPreset, SentenceTransformersFolder, HuggingFaceFolder, KerasHubModel),
        *(SavedModel, AlbertZh, GoogleCheckpoint),
    )
}
SOURCES = (*CONVERTERS,)
# Files that are not read, and the remedy.
_OTHER_NAME = "under another name: rename it to"
_OTHER_FILES = {
    "adapter_config.json": "an adapter of PEFT alone: merge it into its model by PEFT's "
    "`merge_and_unload`, and save that model",
    "*.msgpack": "of Flax: load it by transformers 4 with `from_flax=True`, and save it",
    "*.onnx": "a graph without names of weights: use the model that it was made from",
    "*.gguf": "of llama.cpp: use the model that it was made from",
    "*.index": "a part of a checkpoint: give its path without .index",
    "*.safetensors": f"{_OTHER_NAME} model.safetensors",
    "*.bin": f"{_OTHER_NAME} pytorch_model.bin",
    "*.h5": f"{_OTHER_NAME} tf_model.h5",
    "*.pt*": f"{_OTHER_NAME} pytorch_model.bin",
    "*.ckpt": "of a training program: save its state dict as pytorch_model.bin",
}


def find_checkpoint(path, source=None, config=None):
    """Returns the `Checkpoint` at a path, recognized by its files.

    Args:
        path: str or path, as for `load_checkpoint`; or a model of keras-hub.
        source: str or `None`. The only source to try.
        config: `AlbertConfig` in place of the one in the files, or `None`.
    """
    if isinstance(path, keras.Model):
        found = KerasHubModel.of_model(path)
    else:
        found = recognize(local_files(path), source)
    found.given_config = config
    return found


def recognize(path, source=None):
    """Returns the `Checkpoint` at a local path; see `find_checkpoint`."""
    for checkpoint in CONVERTERS.values() if source is None else [CONVERTERS[source]]:
        found = checkpoint.find(path)
        if found is not None:
            return found
    raise FileNotFoundError(
        "`path` must be a run (`run.json`) or a known checkpoint: Google or "
        "albert_zh (`*.index`), a SavedModel (`saved_model.pb` and `variables/`), "
        f"Hugging Face ({', '.join(huggingface.WEIGHT_READERS)}), a preset "
        "(`config.json`), an address such as hf://USER/MODEL, or a name "
        f"({known_names()}). Received: path={str(path)!r}"
        + (f", source={source!r}" if source else "")
        + _what_is_there(pathlib.Path(path))
    )


def _what_is_there(path):
    """Returns the end of an error: the files at a path, and a remedy."""
    inside = [path] if path.is_file() else sorted(path.iterdir())
    for folder in [path.parent, *inside]:
        if folder.is_dir() and huggingface.HuggingFaceFolder.find_files(folder):
            return f". Give the folder that holds the weights: '{folder}'."
    inside += [file for folder in inside for file in sorted(folder.glob("*"))]
    for pattern, remedy in _OTHER_FILES.items():
        for file in inside:
            if file.match(pattern):
                return f", where '{file}' is {remedy}."
    names = ", ".join(file.name for file in inside)
    return f", which holds no weights{', but ' * bool(names)}{shortened(names)}."
