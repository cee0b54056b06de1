"""Loading of checkpoints from any source."""

import dataclasses
import warnings

from albert_keras.checks import check_choice, check_positive_integer, shortened
from albert_keras.converters.checkpoint import SOURCES, Checkpoint
from albert_keras.converters.heads import head_of, head_rows
from albert_keras.converters.name_table import (
    assign_variables,
    compare_variables,
    expand_rows,
)
from albert_keras.converters.stored_tensors import check_config_sizes
from albert_keras.models import HEADS, AlbertBackbone
from albert_keras.models.classes import are_labels
from albert_keras.presets.preset_files import read_object, registered_class
from albert_keras.system.files import write_json
from albert_keras.tokenizers.loading import find_tokenizer

# Classes of a new head, unless `num_classes` says otherwise.
NUM_CLASSES = 2


def load_checkpoint(
    path,
    config=None,
    head="auto",
    tokenizer=None,
    *,
    num_classes=None,
    source=None,
    report=None,
    dtype=None,
):
    """Loads a published checkpoint, or a preset folder of ours, into a model.

    The source is recognized by its files: `modules.json` with a pooling module is a
    folder of sentence-transformers; `model.safetensors`, `pytorch_model.bin` or
    `tf_model.h5` is a Hugging Face folder; `*.index` a checkpoint of TensorFlow 1, in
    Google's layout or the older one of albert_zh; `saved_model.pb` a SavedModel, as from
    TF-Hub; a `config.json` that names keras-hub's classes or ours a preset. Nothing in
    the files is executed. A vocabulary beside them must not be larger than the token
    table.

    Args:
        path: str or path. A folder, also of a run, or the prefix of a TensorFlow
            checkpoint; an address, `hf://USER/MODEL` or `kaggle://...`; a name of a
            published or shipped model, such as `albert_base_v2` (see
            `albert_keras.presets.hub`); or a model of keras-hub.
        config: `AlbertConfig`, or `None` to read the one beside the weights. A preset
            has its own; SavedModels of TF-Hub have none.
        head: str. `"auto"`, that of the files, and without one an `AlbertBackbone`; or a
            key of `HEADS`: `"pretraining"`, `"sequence_classification"`,
            `"token_classification"`, `"question_answering"`,
            `"joint_question_answering"` (the original's for SQuAD 2.0),
            `"multiple_choice"` or `"text_embedding"`; or `None` for an `AlbertBackbone`.
            A head for fine-tuning that the files do not have is new, with a warning.
        tokenizer: Tokenizer of this package, or str or path for `load_tokenizer`, for the
            model's preprocessor. `None`: the one beside the weights; `False`: none.
        num_classes: int, or `None`. Classes of the head, by default those of the files,
            or 2. With another number than that of the files the head is new.
        source: str or `None`. One of `SOURCES`, if the files fit several.
        report: path or `None`. A JSON file to write, even if the checkpoint does not
            fit, with the `status` (see `Entry`), names and shapes of every variable.
        dtype: Keras dtype policy, such as `"mixed_bfloat16"`. Default: Keras' global
            policy; for a preset of ours, the policy that it was saved with.

    Returns:
        The model, every variable loaded but those of a new head. A file with the
        masked-word head alone gives, with a warning, an `AlbertPretrainer` with
        `num_pair_classes=0`.

    Raises:
        FileNotFoundError: If no known checkpoint is at `path`, or its config is absent.
        ValueError: If any variable is missing, unexpected or mis-shaped (the message
            lists all), the pretraining head is absent, the config changes what is
            computed, the vocabulary is larger than the token table, or a file is damaged
            or links elsewhere.

    Example:

    ```python
    pretrainer = ak.load_checkpoint("albert_base_v2")
    classifier = ak.load_checkpoint("my_run", head="sequence_classification")
    ```
    """
    check_choice("head", head, ("auto", None, *HEADS))
    if source is not None:
        check_choice("source", source, SOURCES)
    checkpoint = Checkpoint.find(path, source)
    config_of_files = checkpoint.config(config)
    size = config_of_files.vocabulary_size
    found = find_tokenizer(checkpoint.folder, tokenizer, size)
    head = checkpoint.head if head == "auto" else head
    _check_num_classes(num_classes, head)
    if checkpoint.is_preset:
        options = {} if tokenizer is None else {"tokenizer": found or False}
        given = {"config": config, "report": report}
        return _load_preset(checkpoint, given, head, options, num_classes, dtype)
    config = _with_projection_of(checkpoint, config_of_files)
    check_config_sizes(config, checkpoint.tensors, checkpoint)
    backbone = AlbertBackbone(**config.to_dict(), dtype=dtype)
    if checkpoint.has_head(head):
        options = _head_options(checkpoint, head)
        if num_classes in (None, options.get(HEADS[head].class_argument)):
            model = HEADS[head].model(backbone, **options)
            _assign(checkpoint, model, head, report)
            model.add_tokenizer(found, checkpoint.folder)
            return model
    if head is not None:
        _check_may_be_new(head, checkpoint)
    _assign(checkpoint, backbone, None, report)
    if head is None:
        return backbone
    options = _new_head_options(head, num_classes, checkpoint)
    model = HEADS[head].model(backbone, **options)
    model.add_tokenizer(found, checkpoint.folder)
    return model


def load_config(path, source=None):
    """Returns the `AlbertConfig` that a checkpoint states, without reading weights.

    Arguments and errors are those of `load_checkpoint`, which also knows by the weights
    whether embeddings as wide as the layers are projected.
    """
    return Checkpoint.find(path, source).config()


def _with_projection_of(checkpoint, config):
    """Returns a config with a projection between equal widths if the files have one."""
    names = {row.target: row.source for row in checkpoint.converter.BACKBONE_ROWS}
    is_stored = names.get("embedding/projection/kernel") in checkpoint.tensors
    are_equal = config.embedding_dim == config.hidden_dim
    projects = are_equal and is_stored
    return dataclasses.replace(config, always_project_embeddings=projects)


def _check_may_be_new(head, checkpoint):
    if not HEADS[head].may_be_new:
        raise ValueError(
            f"The {head} head must be in the files: a new one is of no use. "
            f"Received: {checkpoint}. Load it with another `head`, or `head=None`."
        )


def _new_head_options(head, num_classes, checkpoint):
    """Returns the arguments of a new head, and warns that it is new."""
    options, of_classes = {}, ""
    if HEADS[head].class_argument:
        options[HEADS[head].class_argument] = num_classes or NUM_CLASSES
        of_classes = f" of {num_classes or NUM_CLASSES} classes"
    warnings.warn(
        f"{checkpoint} has no {head} head{of_classes}: the model has a new "
        "one, with random weights. Fine-tune it before use.",
        stacklevel=4,
    )
    return options


def _head_options(checkpoint, head):
    """Returns the arguments of a head that is in the files."""
    options, tensors = checkpoint.head_options(head), checkpoint.tensors
    spec = HEADS[head]
    if spec.class_argument is None:
        return options
    rows = head_rows(checkpoint.converter, head)
    names = [row.source for row in rows if row.target == spec.class_bias]
    shapes = [tensors.shapes[name] for name in names if name in tensors]
    if shapes:
        # One that is no vector will be reported as mis-shaped.
        num_classes = shapes[0][0] if shapes[0] else 1
    elif head == "pretraining":
        # As in the folders that Hugging Face publishes, TF-Hub's and keras-hub's.
        warnings.warn(
            f"{checkpoint} has no sentence-pair head; the model has none either.",
            stacklevel=3,
        )
        num_classes = 0
    else:
        # The bias will be reported as missing.
        num_classes = NUM_CLASSES
    labels = options.get("labels")
    if labels is not None and not are_labels(labels, num_classes):
        warnings.warn(
            f"`id2label` in '{checkpoint.files.with_name('config.json')}' does not name "
            f"each of {num_classes} classes once: they are numbered.",
            stacklevel=3,
        )
        options["labels"] = None
    return {**options, spec.class_argument: num_classes}


def _check_num_classes(num_classes, head):
    if num_classes is None:
        return
    check_positive_integer("num_classes", num_classes)
    if head is None or not HEADS[head].class_argument or not HEADS[head].may_be_new:
        raise ValueError(
            "`num_classes` must be `None` for a head without classes of its own. "
            f"Received: num_classes={num_classes}, head={head!r}."
        )


def _assign(checkpoint, model, head, report):
    converter, tensors = checkpoint.converter, checkpoint.tensors
    own_rows = head_rows(converter, head)
    own_names = {row.source for row in own_rows}
    others = {row.source for other in HEADS for row in head_rows(converter, other)}
    if hasattr(converter, "is_known_extra"):
        others |= {name for name in tensors.shapes if converter.is_known_extra(name)}
    is_outside = getattr(converter, "is_outside", lambda name: False)
    if outside := sorted(filter(is_outside, tensors.shapes.keys() - others)):
        warnings.warn(
            "The checkpoint has tensors of no head of this package, left out: "
            f"{shortened(', '.join(outside), 1000)}.",
            stacklevel=3,
        )
        others.update(outside)
    backbone = model if head is None else model.backbone
    # transformers saves no pooler under heads that do not read it. Then it is new, to be
    # trained with a new head.
    is_optional = head is None or not model.reads_pooled_output
    entries = compare_variables(
        model,
        tensors,
        expand_rows(converter.BACKBONE_ROWS + own_rows, backbone.albert_config),
        skipped_names=others - own_names,
        optional_targets=[v.path for v in backbone.pooler.weights if is_optional],
    )
    if report is not None:
        write_json(report, [dataclasses.asdict(entry) for entry in entries])
    assign_variables(model, tensors, entries)
    kept = [entry.target for entry in entries if entry.status == "kept"]
    if kept and head is None:
        warnings.warn(f"Not in the files, and new: {', '.join(kept)}.", stacklevel=3)


def _load_preset(checkpoint, given, head, options, num_classes, dtype):
    path = checkpoint.files
    for name, value in given.items():
        if value is not None:
            raise ValueError(
                f"`{name}` must be `None` for a preset, which has its own config and "
                f"is loaded whole. Received: path={str(path)!r}, {name}={value}."
            )
    model_class = AlbertBackbone
    if head is None:
        options = {}
    else:
        model_class, saved = HEADS[head].model, registered_class(path, "task.json")
        has_head = saved is not None and head_of(saved) == head
        if has_head:
            # A preset of a subclass is loaded as that class.
            model_class = saved
        is_kept = has_head and num_classes in (None, _saved_num_classes(path, head))
        if HEADS[head].has_weights and not is_kept:
            _check_may_be_new(head, path)
            options |= _new_head_options(head, num_classes, path)
    if dtype is not None:
        options["dtype"] = dtype
    return model_class.from_preset(str(path), **options)


def _saved_num_classes(path, head):
    task = read_object(path, "task.json")
    return task["config"].get(HEADS[head].class_argument)
