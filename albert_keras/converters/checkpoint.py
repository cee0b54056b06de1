"""Loading a checkpoint from whatever source its files show."""

import warnings

import keras
import numpy as np

from albert_keras.config import AlbertConfig
from albert_keras.converters import google, huggingface
from albert_keras.converters.name_table import assign_variables, expand_rows
from albert_keras.models import AlbertBackbone, AlbertPretrainer, AlbertTextClassifier
from albert_keras.models.task import registered_name
from albert_keras.shipped import SHIPPED_MODELS, find_preset

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
        path: str or path. A folder, the prefix of a Google checkpoint, or the name of a
            shipped model.
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
    path = find_preset(path)
    if registered_name(path, "config.json"):
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


def _load_preset(path, config, head):
    if config is not None:
        raise ValueError(
            "`config` must be `None` for a preset, which has its own. "
            f"Received: path={str(path)!r}, config={config}."
        )
    model_class = PRESET_MODELS[head]
    saved = registered_name(path, "task.json")
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
        "Hugging Face (`model.safetensors`), a preset of ours (`config.json`), or the "
        f"name of a shipped model ({', '.join(SHIPPED_MODELS)}). "
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
