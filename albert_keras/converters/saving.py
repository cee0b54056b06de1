"""Saving of models as presets of this package and in other libraries' formats."""

import inspect
import pathlib
import warnings
from fnmatch import fnmatch

from albert_keras.checks import check_choice
from albert_keras.converters.heads import head_of
from albert_keras.converters.loading import CONVERTERS, find_checkpoint
from albert_keras.presets.hub import folder_to_write
from albert_keras.presets.transfer import is_address
from albert_keras.system.files import atomic_folder
from albert_keras.tokenizers.loading import check_vocabulary_size

CHECKPOINT_FORMATS = (
    *("keras", "keras_hub", "google", "huggingface", "sentence-transformers"),
)
# Files of all formats. Only these are replaced.
_FILES = (
    *("config.json", "metadata.json", "task.json", "preprocessor.json", "assets"),
    *("model.weights.*", "model_[0-9]*.weights.h5", "task.weights.h5"),
    *("albert_config.json", "model.ckpt-best.*", "spiece.model", "vocab.txt"),
    *("model.safetensors", "tokenizer.json", "tokenizer_config.json", "modules.json"),
    *("sentence_bert_config.json", "config_sentence_transformers.json"),
    *("1_Pooling", "2_Dense", "[23]_Normalize"),
)


def save_checkpoint(model, path, format="keras", *, tokenizer=None):
    """Saves a model as a folder that another library loads, or as a preset.

    Args:
        model: Model of this package, with or without a head.
        path: str or path. Folder; a model of the same format in it is replaced. Or an
            address such as `hf://USER/MODEL`; a missing repository is created.
        format: str. `"keras"`, a preset of this package; `"google"`, a checkpoint of
            TensorFlow 1 with `albert_config.json`; `"huggingface"`, `model.safetensors`
            with `config.json`; `"sentence-transformers"`, for an `AlbertTextEmbedder`; or
            `"keras_hub"`, a preset for keras-hub's own classes.
        tokenizer: Tokenizer to save with the model, or `None` for that of its
            preprocessor, if any. keras-hub takes only an `AlbertTokenizer`, and does not
            lower-case.

    A warning names values that the format cannot store, such as the names of classes.

    Raises:
        ValueError: If `format` cannot store the model's head, activation or unshared
            layers, the tokenizer has more tokens than the model, or `path` holds other
            files.
        ConnectionError: If the upload to an address fails.

    Example:

    ```python
    pretrainer = ak.load_checkpoint("albert_base_v2", head="pretraining")
    ak.save_checkpoint(pretrainer, "for_transformers", format="huggingface")
    ```
    """
    check_choice("format", format, CHECKPOINT_FORMATS)
    head = head_to_write(model, format)
    backbone = model if head is None else model.backbone
    if tokenizer is None:
        tokenizer = getattr(getattr(model, "preprocessor", None), "tokenizer", None)
    if tokenizer is not None:
        check_vocabulary_size(tokenizer, backbone.vocabulary_size)
    check_replaceable(path, format)
    with folder_to_write(path) as local, atomic_folder(local) as folder:
        CONVERTERS[format].write(model, head, folder, tokenizer)
        if left_out := _left_out(model, head, format):
            warnings.warn(
                f"The format {format} cannot store all values of the model; left out: "
                f"{', '.join(f'{name}={value}' for name, value in left_out.items())}.",
                stacklevel=2,
            )


def _left_out(model, head, format):
    """Returns the values of a model that a format cannot store, a dict by name."""
    values = {}
    if format not in ("keras", "huggingface") and getattr(model, "labels", None):
        values["labels"] = ", ".join(model.labels)
    if format == "google" and head:
        # Google's code has a constant, the default here.
        dropout = inspect.signature(type(model).__init__).parameters.get("dropout")
        if dropout and model.dropout != dropout.default:
            values["dropout"] = model.dropout
    backbone = getattr(model, "backbone", model)
    # The default of keras-hub.
    if format == "keras_hub" and backbone.initializer_range != 0.02:
        values["initializer_range"] = backbone.initializer_range
    return values


def head_to_write(model, format):
    """Returns the head of a model, or `None`, after a check that a format stores it."""
    head = head_of(model)
    known = CONVERTERS[format].known_heads()
    if head is not None and head not in known:
        raise ValueError(
            f"The format {format} must know the model's head: {', '.join(known)}. "
            f"Received: {head}."
        )
    return head


def check_replaceable(path, format):
    """Checks that a path is free, or a folder with only a model of the same format.

    An address is not checked: its repository keeps other files and old versions.
    """
    if is_address(path):
        return
    path = pathlib.Path(path)
    if path.exists() and not path.is_dir():
        raise ValueError(
            f"`path` must be a folder. Received: path={str(path)!r}, which is a file."
        )
    if not path.is_dir() or not any(path.iterdir()):
        return
    names = sorted(file.name for file in path.iterdir())
    others = [name for name in names if not any(fnmatch(name, each) for each in _FILES)]
    try:
        found = find_checkpoint(path).source
    except (FileNotFoundError, ValueError):
        found = "no model"
    if others or found != format:
        also = f", and other files: {', '.join(others)}" if others else ""
        raise ValueError(
            f"`path` must be new, empty, or a model of the same format to replace. "
            f"Received: path={str(path)!r}, format={format!r}; it holds {found}{also}."
        )
