"""sentence-transformers' folders: a Hugging Face folder, and modules after its encoder.

Read in the old format and that of version 6; written in the old one, which all versions
read.
"""

import pathlib
import re

import keras
import numpy as np
import safetensors.numpy

from albert_keras.checks import check_json, shown
from albert_keras.converters import huggingface
from albert_keras.converters.heads import foreign_head
from albert_keras.converters.name_table import collect_tensors
from albert_keras.converters.stored_tensors import StoredTensors
from albert_keras.models.text_embedder import POOLING_MODES
from albert_keras.system.files import read_json, write_json

LAYOUTS = ("sentence_transformers",)
BACKBONE_ROWS = huggingface.BACKBONE_ROWS
MODULES_FILE = "modules.json"
SETTINGS_FILE = "config_sentence_transformers.json"
_KINDS = "Transformer,Pooling(,Dense)?(,Normalize)?"
# Keys of the old format by mode.
_OLD_MODES = {
    "mean": "pooling_mode_mean_tokens",
    "cls": "pooling_mode_cls_token",
    "max": "pooling_mode_max_tokens",
}
# By classes of PyTorch.
ACTIVATIONS = {
    "Tanh": "tanh",
    "Identity": "linear",
    "ReLU": "relu",
    "GELU": "gelu",
    "Sigmoid": "sigmoid",
    "SiLU": "silu",
}

read_config = huggingface.read_config
is_known_extra = huggingface.is_known_extra
is_outside = huggingface.is_outside


def find_checkpoint(path):
    """Returns the file of weights in a folder with a pooling module, or `None`."""
    kinds = [kind for kind, _ in _modules(path)]
    return huggingface.find_checkpoint(path) if "Pooling" in kinds else None


def _modules(path):
    """Returns the kind and the folder of each module in a folder, none of another one."""
    file = pathlib.Path(path, MODULES_FILE)
    if not file.is_file():
        return []
    modules = read_json(file, kind=list)
    check_json(modules, [{"type": str, "path": str}], file)
    for module in modules:
        # The module path before the class is that of a version.
        module["type"] = module["type"].rpartition(".")[2]
        if not re.fullmatch(r"\w*", module["path"]):
            raise ValueError(
                "Modules must lie in folders beside the model. "
                f"Received: path={shown(module['path'])} in '{file}'."
            )
    return [(module["type"], file.parent / module["path"]) for module in modules]


def read_head(checkpoint):
    """Returns the head, an embedder."""
    return "text_embedding"


def read_head_options(checkpoint, head):
    """Returns the arguments of the embedder that the modules state."""
    modules = _modules(checkpoint.parent)
    kinds = ",".join(kind for kind, _ in modules)
    if not re.fullmatch(_KINDS, kinds):
        raise ValueError(
            "A folder of sentence-transformers must have the modules Transformer and "
            "Pooling, and maybe Dense and Normalize, in this order. Received: "
            f"{shown(kinds)} in '{checkpoint.parent}'. Load its encoder with `head=None`."
        )
    folders = dict(modules)
    options = _read_prompts(checkpoint.with_name(SETTINGS_FILE))
    has_prompts = any(options.get("prompts", {}).values())
    options["pooling_mode"] = _read_pooling(folders["Pooling"], has_prompts)
    options["normalize"] = "Normalize" in folders
    return options | (_read_dense(folders["Dense"]) if "Dense" in folders else {})


def _read_prompts(file):
    stated = read_json(file) if file.is_file() else {}
    prompts, default = stated.get("prompts") or {}, stated.get("default_prompt_name")
    check_json(prompts, {str: str}, file, "prompts")
    return {"prompts": prompts, "default_prompt_name": default}


def _read_pooling(folder, has_prompts):
    file = folder / "config.json"
    stated = read_json(file)
    modes = stated.get("pooling_mode", "mean")
    modes = [modes] if isinstance(modes, str) else [*modes]
    if old := [key for key, value in stated.items() if _is_old_mode(key) and value]:
        names = {key: mode for mode, key in _OLD_MODES.items()}
        modes = [names.get(key, key) for key in old]
    if stated.get("include_prompt") is False and has_prompts:
        modes.append("include_prompt=False")
    if len(modes) != 1 or modes[0] not in POOLING_MODES:
        raise ValueError(
            f"The pooling must be one of {', '.join(POOLING_MODES)}. "
            f"Received: {shown(modes)} in '{file}'."
        )
    return modes[0]


def _is_old_mode(key):
    return key.startswith("pooling_mode_")


def _read_dense(folder):
    file = folder / "config.json"
    stated = read_json(file)
    check_json(stated, {"out_features": int, "activation_function": str}, file)
    name = stated["activation_function"].rpartition(".")[2]
    place = stated.get("module_input_name", "sentence_embedding")
    if name not in ACTIVATIONS or stated.get("use_residual") or place[:8] != "sentence":
        raise ValueError(
            "A dense module must be one of a text's vector, without residual, with an "
            f"activation of {', '.join(ACTIVATIONS)}. Received: {shown(stated)} in "
            f"'{file}'."
        )
    return {"dense_dim": stated["out_features"], "dense_activation": ACTIVATIONS[name]}


def read_tensors(checkpoint):
    """Returns `StoredTensors` of the encoder, and of the dense module if there is one."""
    tensors = huggingface.read_tensors(checkpoint)
    folder = dict(_modules(checkpoint.parent)).get("Dense")
    if folder is None:
        return tensors
    file = huggingface.find_checkpoint(folder)
    if file is None:
        raise FileNotFoundError(
            f"A dense module must have weights. Received: none in '{folder}'."
        )
    dense = huggingface.WEIGHT_READERS[file.name](file)
    shapes = dict(dense.shapes)
    # It may have no bias.
    shapes.setdefault("linear.bias", shapes.get("linear.weight", ())[:1])

    def read(name):
        if name in dense:
            return dense.read(name)
        return np.zeros(shapes[name], "f4") if name in shapes else tensors.read(name)

    return StoredTensors(tensors.shapes | shapes, read)


def write_checkpoint(model, head, folder, tokenizer=None):
    """Writes a folder for `sentence_transformers.SentenceTransformer`."""
    if head is None or tokenizer is None or model.dimensions:
        raise ValueError(
            "A folder of sentence-transformers must hold an embedder of all dimensions, "
            f"with its tokenizer. Received: {type(model).__name__}, "
            f"dimensions={getattr(model, 'dimensions', None)}, tokenizer={tokenizer}. "
            "Load a backbone with the head text_embedding; `SentenceTransformer(folder, "
            "truncate_dim=...)` cuts."
        )
    huggingface.write_checkpoint(model.backbone, None, folder, tokenizer)
    length = model.backbone.max_sequence_length
    length = getattr(model.preprocessor, "sequence_length", length)
    size = model.backbone.hidden_dim
    pooling = {key: mode == model.pooling_mode for mode, key in _OLD_MODES.items()}
    kinds = {
        "Transformer": None,
        "Pooling": {"word_embedding_dimension": size, **pooling},
    }
    if model.dense is not None:
        activation = keras.activations.serialize(model.dense_activation)
        kinds["Dense"] = {
            "in_features": size,
            "out_features": model.dense_dim,
            "bias": True,
            "activation_function": f"torch.nn.{_torch_name(activation)}",
        }
    if model.normalize:
        kinds["Normalize"] = {}
    modules = []
    for number, (kind, config) in enumerate(kinds.items()):
        path = f"{number}_{kind}" if number else ""
        place = {"idx": number, "name": str(number), "path": path}
        modules.append({**place, "type": f"sentence_transformers.models.{kind}"})
        if path:
            (folder / path).mkdir()
            write_json(folder / path / "config.json", config)
        if kind == "Dense":
            tensors = collect_tensors(
                model.dense.weights, foreign_head(head).sentence_transformers
            )
            tensors = {n: np.ascontiguousarray(v) for n, v in tensors.items()}
            safetensors.numpy.save_file(tensors, folder / path / "model.safetensors")
    write_json(folder / MODULES_FILE, modules)
    limits = {"max_seq_length": length, "do_lower_case": False}
    write_json(folder / "sentence_bert_config.json", limits)
    prompts = {
        name: getattr(model, name) for name in ("prompts", "default_prompt_name")
    }
    write_json(folder / SETTINGS_FILE, {**prompts, "similarity_fn_name": "cosine"})


def _torch_name(activation):
    for name, ours in ACTIVATIONS.items():
        if ours == activation:
            return name
    raise ValueError(
        "sentence-transformers' dense layers must have an activation of "
        f"{', '.join(ACTIVATIONS.values())}. Received: {shown(activation)}."
    )
