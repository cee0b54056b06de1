"""Checkpoints of any source, recognized by their files, and their contents."""

import dataclasses
import functools
import pathlib
from typing import Any

import keras

from albert_keras.checks import shortened
from albert_keras.config import AlbertConfig
from albert_keras.converters import (
    albert_zh,
    google,
    huggingface,
    keras_hub,
    saved_model,
    sentence_transformers,
)
from albert_keras.converters.heads import head_of, head_rows, known_heads
from albert_keras.converters.own_preset import config_of_preset
from albert_keras.models import HEADS
from albert_keras.models.task import TaskModel
from albert_keras.presets.hub import check_known, known_names, local_files
from albert_keras.presets.preset_files import is_own, registered_class

# Each source is a module with `find_checkpoint`, `read_config`, `read_tensors`,
# `BACKBONE_ROWS` and `LAYOUTS`. If the files state their head, it has `read_head` and
# `read_head_options`; if they may hold other variables, `is_known_extra`, and
# `is_outside` for those that are ignored with a warning; if the loaded model has other
# sizes, `adapt_config`; if the format can be written, `write_checkpoint`. The first
# source that finds its files is used.
CONVERTERS = {
    # Before Hugging Face's, whose files such a folder has too.
    "sentence-transformers": sentence_transformers,
    "huggingface": huggingface,
    "keras_hub": keras_hub,
    "saved_model": saved_model,
    "albert_zh": albert_zh,
    "google": google,
}
# The source of presets of this package.
KERAS = "keras"
SOURCES = (KERAS, *CONVERTERS)
# Files that are not read, and the remedy.
_OTHER_NAME = "under another name: rename it to"
_OTHER_FILES = {
    "adapter_config.json": "an adapter of PEFT alone: merge it into its model, `peft."
    "AutoPeftModelForSequenceClassification.from_pretrained(FOLDER).merge_and_unload()"
    ".save_pretrained(MERGED)`, or with the class of its task",
    "*.msgpack": "of Flax: convert it by transformers 4, `transformers.AlbertForMaskedLM."
    "from_pretrained(FOLDER, from_flax=True).save_pretrained(FOLDER)`, or by its class",
    "*.onnx": "a graph without names of weights: use the model that it was made from",
    "*.gguf": "of llama.cpp: use the model that it was made from",
    "*.index": "a part of a checkpoint: give its path without .index",
    "*.safetensors": f"{_OTHER_NAME} model.safetensors",
    "*.bin": f"{_OTHER_NAME} pytorch_model.bin",
    "*.h5": f"{_OTHER_NAME} tf_model.h5",
    "*.pt*": f"{_OTHER_NAME} pytorch_model.bin",
    "*.ckpt": "of a training program: save its weights as pytorch_model.bin, `torch.save("
    'torch.load(FILE, weights_only=True)["state_dict"], "pytorch_model.bin")`',
}


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """A checkpoint at a resolved path, and its contents.

    Args:
        source: str. One of `SOURCES`.
        files: Argument of the functions of the source's module.
        folder: str or path. Place of a tokenizer, or `None` for a model in memory.
    """

    source: str
    files: Any
    folder: Any

    @classmethod
    def find(cls, path, source=None):
        """Returns the checkpoint at a path, recognized by its files.

        Args:
            path: str or path, as for `load_checkpoint`; or a model of keras-hub.
            source: str or `None`. The only source to try.
        """
        if isinstance(path, keras.Model):
            return cls("keras_hub", keras_hub.find_checkpoint(path), None)
        check_known(path)
        path = local_files(path)
        if source in (None, KERAS) and is_own(path):
            return cls(KERAS, pathlib.Path(path), path)
        for name, converter in CONVERTERS.items():
            if source in (None, name):
                files = converter.find_checkpoint(path)
                if files is not None:
                    return cls(name, files, path)
        raise FileNotFoundError(
            "`path` must be a run (`run.json`) or a known checkpoint: Google or "
            "albert_zh (`*.index`), a SavedModel (`saved_model.pb` and `variables/`), "
            f"Hugging Face ({', '.join(huggingface.WEIGHT_READERS)}), a preset "
            "(`config.json`), an address such as hf://USER/MODEL, or a name "
            f"({known_names()}). Received: path={str(path)!r}"
            + (f", source={source!r}" if source else "")
            + _what_is_there(pathlib.Path(path))
        )

    def __str__(self):
        return self.files.name if self.folder is None else str(self.files)

    @property
    def is_preset(self):
        """Whether it is a preset of this package."""
        return self.source == KERAS

    @property
    def converter(self):
        """The module of its source, if it is not a preset."""
        return CONVERTERS[self.source]

    def config(self, given=None):
        """Returns the `AlbertConfig` of its model: the given one, or the files' own."""
        if self.is_preset:
            return config_of_preset(self.files)
        if given is None:
            given = self.converter.read_config(self.files)
        elif not isinstance(given, AlbertConfig):
            raise TypeError(
                f"`config` must be an `AlbertConfig` or `None`. Received: {given!r}."
            )
        adapt = getattr(self.converter, "adapt_config", None)
        return adapt(given) if adapt else given

    @functools.cached_property
    def tensors(self):
        """`StoredTensors` of its files."""
        return self.converter.read_tensors(self.files)

    @functools.cached_property
    def head(self):
        """The head in its files, or `None`.

        If the files do not state their head, it is the first one with a variable in them.
        Google's classifiers and multiple-choice models look the same.
        """
        if self.is_preset:
            saved = registered_class(self.files, "task.json")
            return head_of(saved) if saved and issubclass(saved, TaskModel) else None
        stated = self._stated_head
        found = [
            head
            for head in ([stated] if stated else known_heads(self.converter))
            if self._holds(head)
        ]
        if not self.stores("pooler/kernel"):
            # A classifier without a pooler classifies tokens.
            reads = {head: HEADS[head].model.reads_pooled_output for head in found}
            found.sort(key=lambda head: reads[head] is not False)
        return found[0] if found else None

    def stores(self, target):
        """Returns whether it has a variable of the backbone, by its path in a model."""
        rows = self.converter.BACKBONE_ROWS
        return any(row.source in self.tensors for row in rows if row.target == target)

    def has_head(self, head):
        """Returns whether it holds a head, and states no other one."""
        return self._stated_head in (None, head) and self._holds(head)

    @functools.cached_property
    def _stated_head(self):
        read_head = getattr(self.converter, "read_head", None)
        return read_head(self.files) if read_head else None

    def _holds(self, head):
        names = {row.source for row in head_rows(self.converter, head)}
        return not HEADS[head].has_weights or bool(names & self.tensors.shapes.keys())

    def head_options(self, head):
        """Returns the arguments of a head that the files state, a dict."""
        read_options = getattr(self.converter, "read_head_options", None)
        return read_options(self.files, head) if read_options else {}


def _what_is_there(path):
    """Returns the end of an error: the files at a path, and a remedy."""
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
