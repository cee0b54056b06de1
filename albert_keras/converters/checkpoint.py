"""Loading a checkpoint from whatever source its files show."""

import json
import pathlib
import warnings

import keras
import numpy as np

from albert_keras.config import AlbertConfig
from albert_keras.converters import google, huggingface
from albert_keras.converters.name_table import assign_variables, expand_rows
from albert_keras.models import AlbertBackbone, AlbertPretrainer, AlbertTextClassifier

# Each is a module with `find_checkpoint`, `read_config`, `read_head_options`,
# `read_tensors`, `BACKBONE_ROWS`, `HEAD_ROWS` and `CLASSES_NAME`.
CONVERTERS = {"google": google, "huggingface": huggingface}

PRESET_MODELS = {
    None: AlbertBackbone,
    "pretraining": AlbertPretrainer,
    "sequence_classification": AlbertTextClassifier,
}


def load_checkpoint(path, config=None, head="pretraining"):
    """Loads a published checkpoint, or a preset folder of ours, into a model.

    The source is told from the files: `*.index` is Google's TensorFlow 1 checkpoint,
    `model.safetensors` a Hugging Face folder, a `config.json` that names our classes a
    preset written by `save_to_preset`.

    Args:
        path: str or path. A folder, or the prefix of a Google checkpoint.
        config: `AlbertConfig`, or `None` to read the one beside the weights. A preset
            has its own.
        head: `"pretraining"` (an `AlbertPretrainer`), `"sequence_classification"` (an
            `AlbertTextClassifier`), or `None` (an `AlbertBackbone`).

    Returns:
        The model, in Keras' global dtype policy, every variable loaded. A file with the
        masked-word head alone gives, with a warning, an `AlbertPretrainer` with
        `num_pair_classes=0`.

    Raises:
        FileNotFoundError: If nothing known stands at `path`, or its config is absent.
        ValueError: If `head` is unknown or absent, the config holds what is not
            understood, or any variable is missing, unexpected or mis-shaped; the message
            lists all.

    Example:

    ```python
    pretrainer = ak.load_checkpoint("albert_base_v2")
    classifier = ak.load_checkpoint("my_run", head="sequence_classification")
    ```
    """
    if head not in PRESET_MODELS:
        raise ValueError(
            f"`head` must be one of {', '.join(map(str, PRESET_MODELS))}. "
            f"Received: head={head!r}."
        )
    if _registered_name(path, "config.json"):
        return _load_preset(path, config, head)
    source, checkpoint = _recognise(path)
    if config is None:
        config = source.read_config(checkpoint)
    elif not isinstance(config, AlbertConfig):
        raise TypeError(
            f"`config` must be an `AlbertConfig` or `None`. Received: {config!r}."
        )
    tensors = source.read_tensors(checkpoint)
    model = _build_model(source, checkpoint, config, head, tensors)
    other_heads = [
        row.source
        for name, rows in source.HEAD_ROWS.items()
        if name != head
        for row in rows
    ]
    head_rows = source.HEAD_ROWS[head] if head else ()
    assign_variables(
        model,
        tensors,
        expand_rows(source.BACKBONE_ROWS + head_rows, config),
        skipped_names=other_heads,
    )
    return model


def _registered_name(path, file_name):
    """Returns which of our classes a preset's file describes; `None` if none does."""
    file = pathlib.Path(path) / file_name
    if not file.is_file():
        return None
    return json.loads(file.read_text("utf-8")).get("registered_name")


def _load_preset(path, config, head):
    if config is not None:
        raise ValueError(
            "`config` must be `None` for a preset, which has its own. "
            f"Received: path={str(path)!r}, config={config}."
        )
    model_class = PRESET_MODELS[head]
    saved = _registered_name(path, "task.json")
    # keras-hub would give the model a new head, of random weights.
    if head is not None and saved != keras.saving.get_registered_name(model_class):
        raise ValueError(
            f"The preset has no {head} head. Received: path={str(path)!r} with {saved}. "
            "Load it with another `head`, or `head=None`."
        )
    return model_class.from_preset(str(path))


def _recognise(path):
    for source in CONVERTERS.values():
        checkpoint = source.find_checkpoint(path)
        if checkpoint is not None:
            return source, checkpoint
    raise FileNotFoundError(
        "`path` must be a folder or prefix of a known checkpoint: Google (`*.index`), "
        "Hugging Face (`model.safetensors`), or a preset of ours (`config.json`). "
        f"Received: path={str(path)!r}."
    )


def _build_model(source, checkpoint, config, head, tensors):
    backbone = AlbertBackbone(**config.to_dict())
    if head is None:
        return backbone
    classes_name = source.CLASSES_NAME[head]
    if head == "pretraining" and _has_only_masked_lm(source, tensors):
        warnings.warn(
            f"{checkpoint} has no sentence-pair head; the model has none either.",
            stacklevel=3,
        )
        return AlbertPretrainer(backbone, num_pair_classes=0)
    if classes_name not in tensors:
        raise ValueError(
            f"The checkpoint has no {head} head (no `{classes_name}`). "
            f"Received: {checkpoint}. Load it with another `head`, or `head=None`."
        )
    num_classes = np.shape(tensors[classes_name])[0]
    if head == "pretraining":
        return AlbertPretrainer(backbone, num_pair_classes=num_classes)
    options = source.read_head_options(checkpoint)
    return AlbertTextClassifier(backbone, num_classes=num_classes, **options)


def _has_only_masked_lm(source, tensors):
    # So are the folders that Hugging Face publishes.
    names = {row.source for row in source.HEAD_ROWS["pretraining"]}
    absent = {name for name in names if name not in tensors}
    return absent != names and source.CLASSES_NAME["pretraining"] in absent
