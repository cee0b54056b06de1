"""Loading a checkpoint from whatever source its files show."""

import warnings

import keras
import numpy as np

from albert_keras.checks import check_choice
from albert_keras.config import AlbertConfig
from albert_keras.converters import google, huggingface
from albert_keras.converters.name_table import assign_variables, expand_rows
from albert_keras.models import (
    AlbertBackbone,
    AlbertMultipleChoice,
    AlbertPretrainer,
    AlbertQuestionAnswerer,
    AlbertTextClassifier,
    AlbertTokenClassifier,
)
from albert_keras.models.task import registered_name
from albert_keras.shipped import SHIPPED_MODELS, find_preset

# Each is a module with `find_checkpoint`, `read_config`, `read_head`,
# `read_head_options`, `read_tensors`, `BACKBONE_ROWS`, `HEAD_ROWS` and `CLASSES_NAME`.
CONVERTERS = {"google": google, "huggingface": huggingface}

MODELS = {
    None: AlbertBackbone,
    "pretraining": AlbertPretrainer,
    "sequence_classification": AlbertTextClassifier,
    "token_classification": AlbertTokenClassifier,
    "question_answering": AlbertQuestionAnswerer,
    "multiple_choice": AlbertMultipleChoice,
}
# What a new head has where nobody says otherwise.
NUM_CLASSES = 2


def load_checkpoint(path, config=None, head="pretraining", *, num_classes=None):
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
            `AlbertTextClassifier`), `"token_classification"` (an
            `AlbertTokenClassifier`), `"question_answering"` (an
            `AlbertQuestionAnswerer`), `"multiple_choice"` (an `AlbertMultipleChoice`),
            or `None` (an `AlbertBackbone`). A head for fine-tuning that the files do not
            have is new, with random weights, and a warning says so.
        num_classes: int, or `None`. Classes of a new head, by default 2; those of a head
            that the files have must agree.

    Returns:
        The model, in Keras' global dtype policy, every variable loaded but those of a
        new head. A file with the masked-word head alone gives, with a warning, an
        `AlbertPretrainer` with `num_pair_classes=0`.

    Raises:
        FileNotFoundError: If nothing known stands at `path`, or its config is absent.
        ValueError: If `head` is unknown, or the pretraining head is absent; if the
            config holds what is not understood, or any variable is missing, unexpected
            or mis-shaped; the message lists all.

    Example:

    ```python
    pretrainer = ak.load_checkpoint("albert_base_v2")
    classifier = ak.load_checkpoint("my_run", head="sequence_classification")
    ```
    """
    check_choice("head", head, MODELS)
    path = find_preset(path)
    if registered_name(path, "config.json"):
        return _load_preset(path, config, head, num_classes)
    source, checkpoint = _recognise(path)
    if config is None:
        config = source.read_config(checkpoint)
    elif not isinstance(config, AlbertConfig):
        raise TypeError(
            f"`config` must be an `AlbertConfig` or `None`. Received: {config!r}."
        )
    tensors = source.read_tensors(checkpoint)
    backbone = AlbertBackbone(**config.to_dict())
    if not _has_head(source, checkpoint, head, tensors):
        _assign(source, backbone, tensors, head=None)
        return _add_new_head(backbone, head, num_classes, checkpoint)
    options = _head_options(source, checkpoint, head, tensors)
    _check_num_classes(num_classes, options, checkpoint)
    model = MODELS[head](backbone, **options)
    _assign(source, model, tensors, head)
    return model


def _has_head(source, checkpoint, head, tensors):
    if source.read_head(checkpoint) not in (None, head):
        return False
    return any(row.source in tensors for row in source.HEAD_ROWS.get(head, ()))


def _add_new_head(backbone, head, num_classes, checkpoint):
    if head is None:
        return backbone
    _check_may_be_new(head, checkpoint)
    return MODELS[head](backbone, **_new_head_options(head, num_classes, checkpoint))


def _check_may_be_new(head, checkpoint):
    if head == "pretraining":
        raise ValueError(
            "The pretraining head must be in the files: a new one is of no use. "
            f"Received: {checkpoint}. Load it with another `head`, or `head=None`."
        )


def _new_head_options(head, num_classes, checkpoint):
    """Returns what a new head is made of, and warns that it is new."""
    options = {}
    if head in ("sequence_classification", "token_classification"):
        options["num_classes"] = num_classes or NUM_CLASSES
    of_classes = f" of {options['num_classes']} classes" if options else ""
    warnings.warn(
        f"{checkpoint} has no {head} head: the model has a new one{of_classes}, "
        "with random weights. Fine-tune it before use.",
        stacklevel=4,
    )
    return options


def _head_options(source, checkpoint, head, tensors):
    if head == "pretraining" and _has_only_masked_lm(source, tensors):
        warnings.warn(
            f"{checkpoint} has no sentence-pair head; the model has none either.",
            stacklevel=3,
        )
        return {"num_pair_classes": 0}
    options = source.read_head_options(checkpoint, head)
    if head in source.CLASSES_NAME:
        name = source.CLASSES_NAME[head]
        argument = "num_pair_classes" if head == "pretraining" else "num_classes"
        # Absent, it will be among what `assign_variables` lists as missing.
        found = np.shape(tensors[name])[0] if name in tensors else NUM_CLASSES
        options[argument] = found
    return options


def _check_num_classes(num_classes, options, checkpoint):
    found = options.get("num_classes")
    if num_classes is not None and num_classes != found:
        raise ValueError(
            "`num_classes` must be that of the files, or `None`. Received: "
            f"num_classes={num_classes}, {checkpoint} with {found}. For a new head load "
            "it with `head=None`, and put the head on."
        )


def _assign(source, model, tensors, head):
    own_rows = source.HEAD_ROWS[head] if head else ()
    own_names = {row.source for row in own_rows}
    other_heads = [
        row.source
        for rows in source.HEAD_ROWS.values()
        for row in rows
        if row.source not in own_names
    ]
    backbone = model if head is None else model.backbone
    idle = (
        [] if getattr(model, "reads_pooled_output", True) else backbone.pooler.weights
    )
    assign_variables(
        model,
        tensors,
        expand_rows(source.BACKBONE_ROWS + own_rows, backbone.albert_config),
        skipped_names=other_heads,
        optional_targets=[variable.path for variable in idle],
    )


def _load_preset(path, config, head, num_classes):
    if config is not None:
        raise ValueError(
            "`config` must be `None` for a preset, which has its own. "
            f"Received: path={str(path)!r}, config={config}."
        )
    model_class = MODELS[head]
    saved = registered_name(path, "task.json")
    if head is None or saved == keras.saving.get_registered_name(model_class):
        model = model_class.from_preset(str(path))
        _check_num_classes(num_classes, model.get_config(), path)
        return model
    _check_may_be_new(head, path)
    options = _new_head_options(head, num_classes, path)
    return model_class.from_preset(str(path), **options)


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


def _has_only_masked_lm(source, tensors):
    # So are the folders that Hugging Face publishes.
    names = {row.source for row in source.HEAD_ROWS["pretraining"]}
    absent = {name for name in names if name not in tensors}
    return absent != names and source.CLASSES_NAME["pretraining"] in absent
