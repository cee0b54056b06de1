"""Loading of checkpoints and presets from any source."""

import dataclasses
import warnings

from albert_keras.checks import check_choice, check_positive_integer, shortened
from albert_keras.config import ATTENTION_FIELDS
from albert_keras.converters.architecture import change_architecture, with_new_weights
from albert_keras.converters.checkpoint import SOURCES, Checkpoint
from albert_keras.converters.heads import head_of, head_rows
from albert_keras.converters.name_table import (
    assign_variables,
    compare_variables,
    expand_rows,
)
from albert_keras.converters.own_preset import load_own_preset
from albert_keras.converters.stored_tensors import check_config_sizes
from albert_keras.models import HEADS, AlbertBackbone
from albert_keras.models.classes import are_labels
from albert_keras.presets.hub import check_preset
from albert_keras.presets.preset_files import is_own, read_object, registered_class
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
    """Loads a published checkpoint, or a preset of this package, into a model.

    The files show the source. `modules.json` with a pooling module is a folder of
    sentence-transformers; `model.safetensors`, `pytorch_model.bin` or `tf_model.h5` is a
    Hugging Face folder; `*.index` is a checkpoint of TensorFlow 1, in Google's layout or
    albert_zh's older one; `saved_model.pb` is a SavedModel, as from TF-Hub; `config.json`
    with a class of keras-hub or of this package is a preset. Nothing in the files is
    executed. A vocabulary beside them must not be larger than the token table.

    Args:
        path: str or path. A folder, also of a run, or the prefix of a TensorFlow
            checkpoint; an address, `hf://USER/MODEL` or `kaggle://...`; the name of a
            published or shipped model, such as `albert_base_v2` (see
            `albert_keras.presets.hub`); or a model of keras-hub.
        config: `AlbertConfig`, or `None` to read the one beside the weights. A preset
            has its own; SavedModels of TF-Hub have none.
        head: str or `None`. `"auto"` loads the head of the files, or an `AlbertBackbone`
            if they have none. `None` loads an `AlbertBackbone`. Otherwise a key of
            `HEADS`: `"pretraining"`, `"sequence_classification"`,
            `"token_classification"`, `"question_answering"`,
            `"joint_question_answering"` (Google's for SQuAD 2.0), `"multiple_choice"` or
            `"text_embedding"`. If the files lack a head for fine-tuning, the model has a
            new one, with a warning.
        tokenizer: Tokenizer of this package, or str or path for `load_tokenizer`, for the
            model's preprocessor. `None` loads the one beside the weights, `False` none.
        num_classes: int, or `None`. Classes of the head, by default as in the files, or
            2. If the files have another number, the head is new.
        source: str or `None`. One of `SOURCES`, if the files fit several.
        report: path or `None`. JSON file to write, even if the checkpoint does not fit,
            with the `status` (see `Entry`), names and shapes of every variable.
        dtype: Keras dtype policy, such as `"mixed_bfloat16"`. Default: Keras' global
            policy, or the policy that a preset of this package was saved with.

    Returns:
        The model. Every variable is loaded, except those of a new head. If files have
        only the masked-word head of pretraining, the model is, with a warning, an
        `AlbertPretrainer` with `num_pair_classes=0`.

    Raises:
        FileNotFoundError: If no known checkpoint is at `path`, or its config is absent.
        ValueError: If a variable is missing, unexpected or mis-shaped (the message lists
            all), the pretraining head is absent, the config changes what is computed, the
            vocabulary is larger than the token table, or a file is damaged or links to
            another one.

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
    stated = checkpoint.config(config)
    found = find_tokenizer(checkpoint.folder, tokenizer, stated.vocabulary_size)
    head = checkpoint.head if head == "auto" else head
    _check_num_classes(num_classes, head)
    if checkpoint.is_preset:
        options = {} if tokenizer is None else {"tokenizer": found or False}
        given = {"config": config, "report": report}
        return _load_preset(checkpoint, given, head, options, num_classes, dtype)
    config = _with_projection_of(checkpoint, stated)
    check_config_sizes(config, checkpoint.tensors, checkpoint)
    backbone = AlbertBackbone(**config.to_dict(), dtype=dtype)
    if head is None:
        _assign(checkpoint, backbone, None, report)
        return backbone
    has_head = checkpoint.has_head(head)
    options = _head_options(checkpoint, head) if has_head else {}
    if num_classes not in (None, options.get(HEADS[head].class_argument)):
        has_head = False
    if not has_head:
        options = _new_head_options(checkpoint, head, num_classes)
        _assign(checkpoint, backbone, None, report)
    model = HEADS[head].model(backbone, **options)
    if has_head:
        _assign(checkpoint, model, head, report)
    model.add_tokenizer(found, checkpoint.folder)
    return model


def load_config(path, source=None):
    """Returns the `AlbertConfig` that a checkpoint states, without reading weights.

    Arguments and errors are those of `load_checkpoint`. Only `load_checkpoint` reads from
    the weights whether embeddings as wide as the layers are projected.
    """
    return Checkpoint.find(path, source).config()


def read_model(cls, preset, load_weights, options):
    """Returns a model of a class; see `LoadsByName.from_preset`, which calls this.

    Args:
        cls: Class of the model, a `LoadsByName`.
        preset, load_weights: As of `from_preset`.
        options: Dict of its other arguments.
    """
    folder = check_preset(preset)
    changes = {n: options.pop(n) for n in ATTENTION_FIELDS if n in options}
    if is_own(folder):
        model = load_own_preset(cls, folder, load_weights, options)
    else:
        unknown = options.keys() - {"num_classes", "dtype", "tokenizer"}
        if unknown:
            raise ValueError(
                "`from_preset` takes only `num_classes`, `dtype` and `tokenizer` for a "
                f"checkpoint of another library. Received: {', '.join(sorted(unknown))} "
                f"for '{folder}'. `convert` it to a preset first."
            )
        model = load_checkpoint(folder, head=head_of(cls), **options)
        model = model if load_weights else with_new_weights(model)
    return change_architecture(model, **changes) if changes else model


def _with_projection_of(checkpoint, config):
    """Returns a config with a projection between equal widths if the files have one."""
    are_equal = config.embedding_dim == config.hidden_dim
    projects = are_equal and checkpoint.stores("embedding/projection/kernel")
    return dataclasses.replace(config, always_project_embeddings=projects)


def _new_head_options(checkpoint, head, num_classes):
    """Returns the arguments of a new head, and warns that it is new."""
    if not HEADS[head].may_be_new:
        raise ValueError(
            f"The {head} head must be in the files: a new one is of no use. "
            f"Received: {checkpoint}. Load it with another `head`, or `head=None`."
        )
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
    """Returns the arguments of a head in the files."""
    options, tensors = checkpoint.head_options(head), checkpoint.tensors
    spec = HEADS[head]
    if spec.class_argument is None:
        return options
    rows = head_rows(checkpoint.converter, head)
    names = [row.source for row in rows if row.target == spec.class_bias]
    shapes = [tensors.shapes[name] for name in names if name in tensors]
    if shapes:
        # A scalar will be reported as mis-shaped.
        num_classes = shapes[0][0] if shapes[0] else 1
    elif head == "pretraining":
        # Published folders of Hugging Face, TF-Hub and keras-hub have none.
        warnings.warn(
            f"{checkpoint} has no sentence-pair head, so the model has none.",
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
            f"each of {num_classes} classes once. Their names are numbers instead.",
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
            "`num_classes` must be `None` for a head without its own classes. "
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
            "The checkpoint has tensors that belong to no head of this package; ignored: "
            f"{shortened(', '.join(outside), 1000)}.",
            stacklevel=3,
        )
        others.update(outside)
    backbone = model if head is None else model.backbone
    # transformers saves no pooler with heads that do not read it. Then the pooler is new,
    # and is trained with a new head.
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
        warnings.warn(f"Not in the files, so new: {', '.join(kept)}.", stacklevel=3)


def _load_preset(checkpoint, given, head, options, num_classes, dtype):
    folder = checkpoint.files
    for name, value in given.items():
        if value is not None:
            raise ValueError(
                f"`{name}` must be `None` for a preset, which has its own config and "
                f"is loaded whole. Received: path={str(folder)!r}, {name}={value}."
            )
    model_class = AlbertBackbone
    if head is None:
        options = {}
    else:
        model_class, saved = HEADS[head].model, registered_class(folder, "task.json")
        is_kept = saved is not None and head_of(saved) == head
        if is_kept:
            # Loads a preset of a subclass as that class.
            model_class = saved
            config = read_object(folder, "task.json")["config"]
            saved_num_classes = config.get(HEADS[head].class_argument)
            is_kept = num_classes in (None, saved_num_classes)
        if HEADS[head].has_weights and not is_kept:
            options |= _new_head_options(checkpoint, head, num_classes)
    if dtype is not None:
        options["dtype"] = dtype
    return load_own_preset(model_class, folder, load_weights=True, options=options)
