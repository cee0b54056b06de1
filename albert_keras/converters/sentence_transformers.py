"""sentence-transformers' folders: a Hugging Face folder with modules after the encoder.

The old format and that of version 6 are read; the old one, which all versions read, is
written.
"""

import functools
import pathlib
import re

import keras
import numpy as np

from albert_keras.checks import check_choice, check_json, shown
from albert_keras.converters import huggingface
from albert_keras.converters.heads import foreign_head
from albert_keras.converters.name_table import collect_tensors
from albert_keras.converters.stored_tensors import StoredTensors, joined
from albert_keras.converters.weight_files import write_safetensors
from albert_keras.models.text_embedder import POOLING_MODES
from albert_keras.system.files import read_json, write_json

MODULES_FILE = "modules.json"
SETTINGS_FILE = "config_sentence_transformers.json"
_LAYOUT = r"Transformer= Pooling=\w+( Dense=\w+)?( Normalize=\w+)?"
# Keys of the old format by mode, and activations by PyTorch's classes.
_OLD = "pooling_mode_"
_OLD_MODES = {"mean": "mean_tokens", "cls": "cls_token", "max": "max_tokens"}
ACTIVATIONS = {"Tanh": "tanh", "Identity": "linear", "ReLU": "relu", "GELU": "gelu"}


class SentenceTransformersFolder(huggingface.HuggingFaceFolder):
    """A folder with a pooling module, for an embedder."""

    source = "sentence-transformers"
    layouts = ("sentence_transformers",)
    stated_head = "text_embedding"

    @staticmethod
    def find_files(path):
        is_one = "Pooling" in _modules(path)
        return huggingface.HuggingFaceFolder.find_files(path) if is_one else None

    @functools.cached_property
    def modules(self):
        """Folders of the modules by kind, a dict."""
        return _modules(self.files.parent)

    def head_options(self, head):
        """Returns the arguments of the embedder that the modules state."""
        file = self.files.with_name(SETTINGS_FILE)
        stated = read_json(file) if file.is_file() else {}
        prompts = stated.get("prompts") or {}
        check_json(prompts, {str: str}, file, "prompts")
        has_prompts = any(prompts.values())
        options = {
            "prompts": prompts,
            "default_prompt_name": stated.get("default_prompt_name"),
            "normalize": "Normalize" in self.modules,
            "pooling_mode": _read_pooling(self.modules["Pooling"], has_prompts),
        }
        if "Dense" in self.modules:
            file = self.modules["Dense"] / "config.json"
            stated = read_json(file)
            check_json(stated, {"out_features": int, "activation_function": str}, file)
            activation = stated["activation_function"].rpartition(".")[2]
            check_choice("activation_function", activation, ACTIVATIONS)
            check_choice("use_residual", stated.get("use_residual", False), [False])
            # Checked before memory is allocated.
            sizes = self._dense.shapes.get("linear.bias", ())
            check_choice("out_features", stated["out_features"], sizes)
            options["dense_dim"] = stated["out_features"]
            options["dense_activation"] = ACTIVATIONS[activation]
        return options

    def read_tensors(self):
        """Returns `StoredTensors` of the encoder, and of the dense module if any."""
        return joined([super().read_tensors(), self._dense])

    @functools.cached_property
    def _dense(self):
        """The `StoredTensors` of the dense module, which may have no bias."""
        folder = self.modules.get("Dense")
        file = folder and huggingface.HuggingFaceFolder.find_files(folder)
        if not file:
            return StoredTensors({}, None)
        dense = huggingface.WEIGHT_READERS[file.name](file)
        size = dense.shapes.get("linear.weight", ())[:1]
        bias = StoredTensors({"linear.bias": size}, lambda _: np.zeros(size, "float32"))
        return joined([bias, dense])

    @staticmethod
    def write(model, head, folder, tokenizer=None):
        """Writes a folder for `sentence_transformers.SentenceTransformer`."""
        if head is None or tokenizer is None or model.dimensions:
            raise ValueError(
                "sentence-transformers' folders hold an embedder of all dimensions and "
                f"its tokenizer. Received: {type(model).__name__}, "
                f"tokenizer={tokenizer}, dimensions={getattr(model, 'dimensions', None)}"
                ". Load a backbone with the head text_embedding; use "
                "SentenceTransformer's `truncate_dim` to cut."
            )
        huggingface.HuggingFaceFolder.write(model.backbone, None, folder, tokenizer)
        size = model.backbone.hidden_dim
        modes = {
            _OLD + key: mode == model.pooling_mode for mode, key in _OLD_MODES.items()
        }
        pooling = {"word_embedding_dimension": size, **modes}
        modules = {"Transformer": {}, "Pooling": pooling}
        if model.dense is not None:
            activation = keras.activations.serialize(model.dense_activation)
            names = {name: module for module, name in ACTIVATIONS.items()}
            check_choice("dense_activation", activation, names)
            modules["Dense"] = {
                "in_features": size,
                "out_features": model.dense_dim,
                "bias": True,
                "activation_function": f"torch.nn.{names[activation]}",
            }
        if model.normalize:
            modules["Normalize"] = {}
        listed = []
        for number, (kind, config) in enumerate(modules.items()):
            path = f"{number}_{kind}" if number else ""
            place = {"idx": number, "name": str(number), "path": path}
            listed.append({**place, "type": f"sentence_transformers.models.{kind}"})
            if path:
                (folder / path).mkdir()
                write_json(folder / path / "config.json", config)
        write_json(folder / MODULES_FILE, listed)
        if model.dense is not None:
            rows = foreign_head(head).sentence_transformers
            tensors = collect_tensors(model.dense.weights, rows)
            write_safetensors(folder / "2_Dense" / "model.safetensors", tensors)
        length = getattr(model.preprocessor, "sequence_length", None)
        limit = length or model.backbone.max_sequence_length
        limits = {"max_seq_length": limit, "do_lower_case": False}
        write_json(folder / "sentence_bert_config.json", limits)
        names = ("prompts", "default_prompt_name")
        settings = {name: getattr(model, name) for name in names}
        write_json(folder / SETTINGS_FILE, {**settings, "similarity_fn_name": "cosine"})


def _modules(path):
    """Returns a dict of the modules' folders by kind, empty for another library's."""
    file = pathlib.Path(path, MODULES_FILE)
    modules = read_json(file, kind=list) if file.is_file() else []
    check_json(modules, [{"type": str, "path": str}], file)
    # The Python module before the class differs between versions.
    found = {each["type"].rpartition(".")[2]: each["path"] for each in modules}
    layout = " ".join(map("=".join, found.items()))
    is_known = re.fullmatch(_LAYOUT, layout) and len(found) == len(modules)
    if "Pooling" in found and not is_known:
        raise ValueError(
            "A folder of sentence-transformers must have the modules Transformer, "
            "Pooling and maybe Dense and Normalize, once and in this order. Received: "
            f"{shown(layout)} in '{file}'. Load the encoder with source='huggingface'."
        )
    return {kind: file.parent / name for kind, name in found.items()}


def _read_pooling(folder, has_prompts):
    stated = read_json(folder / "config.json")
    names = {_OLD + key: mode for mode, key in _OLD_MODES.items()}
    old = [key for key in stated if key.startswith(_OLD) and stated[key] is True]
    mode = stated.get("pooling_mode") or "+".join(names.get(key, key) for key in old)
    if stated.get("include_prompt") is False and has_prompts:
        mode = f"{mode} without prompts"
    check_choice("pooling_mode", mode, POOLING_MODES)
    return mode
