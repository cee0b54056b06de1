"""Loading of checkpoints and presets from any source."""

import dataclasses
import warnings

from albert_keras.checks import check_choice, check_positive_integer, shortened
from albert_keras.config import ATTENTION_FIELDS, AlbertConfig
from albert_keras.converters.architecture import change_architecture, with_new_weights
from albert_keras.converters.checkpoint import NUM_CLASSES
from albert_keras.converters.heads import head_of, head_rows
from albert_keras.converters.name_table import (
    assign_variables,
    compare_variables,
    expand_rows,
)
from albert_keras.converters.own_preset import OwnPreset
from albert_keras.converters.sources import SOURCES, find_checkpoint, recognize
from albert_keras.converters.stored_tensors import check_config_sizes
from albert_keras.models import HEADS, AlbertBackbone
from albert_keras.presets.hub import local_files
from albert_keras.system.files import write_json
from albert_keras.tokenizers.loading import find_tokenizer


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
    if not isinstance(config, AlbertConfig | None):
        raise TypeError(
            f"`config` must be an `AlbertConfig` or `None`. Received: {config!r}."
        )
    checkpoint = find_checkpoint(path, source, config)
    return _load(checkpoint, head, tokenizer, num_classes, report, dtype)


def _load(
    checkpoint, head, tokenizer=None, num_classes=None, report=None, dtype=None, **given
):
    """Returns the model of a `Checkpoint`; see `load_checkpoint`.

    `given` are arguments of the model's class in place of those that the files state.
    """
    size = checkpoint.config.vocabulary_size
    found = find_tokenizer(checkpoint.folder, tokenizer, size)
    head = checkpoint.head if head == "auto" else head
    _check_num_classes(num_classes, head)
    options = {}
    has_head = head is not None and checkpoint.has_head(head)
    if has_head:
        options = checkpoint.all_head_options(head)
        has_head = num_classes in (None, options.get(HEADS[head].class_argument))
    if head is not None and not has_head:
        options = _new_head_options(checkpoint, head, num_classes)
    if isinstance(checkpoint, OwnPreset):
        if head is not None and tokenizer is not None:
            options["tokenizer"] = found or False
        return checkpoint.load_head(head, options, report, dtype)
    config = _with_projection_of(checkpoint)
    check_config_sizes(config, checkpoint.tensors, checkpoint)
    own = {} if head else given
    backbone = AlbertBackbone(**{**config.to_dict(), "dtype": dtype, **own})
    if not has_head:
        _assign(checkpoint, backbone, None, report)
    if head is None:
        return backbone
    model = HEADS[head].model(backbone, **{**options, **given})
    if has_head:
        _assign(checkpoint, model, head, report)
    if "preprocessor" not in given:
        model.add_tokenizer(found, checkpoint.folder)
    return model


def load_config(path, source=None):
    """Returns the `AlbertConfig` that a checkpoint states, without reading weights.

    Arguments and errors are those of `load_checkpoint`. Only `load_checkpoint` reads from
    the weights whether embeddings as wide as the layers are projected.
    """
    return find_checkpoint(path, source).config


def read_model(cls, preset, load_weights, options):
    """Returns a model of a class; see `AlbertModel.from_preset`, which calls this.

    Args:
        cls: Class of the model, an `AlbertModel`.
        preset, load_weights: As of `from_preset`.
        options: Dict of its other arguments.
    """
    checkpoint = recognize(local_files(preset))
    changes = {n: options.pop(n) for n in ATTENTION_FIELDS if n in options}
    if isinstance(checkpoint, OwnPreset):
        model = checkpoint.load(cls, load_weights, **options)
    else:
        model = _load(checkpoint, head_of(cls), **options)
        model = model if load_weights else with_new_weights(model)
    return change_architecture(model, **changes) if changes else model


def _with_projection_of(checkpoint):
    """Returns a config with a projection between equal widths if the files have one."""
    config = checkpoint.config
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
    tensors, own_rows = checkpoint.tensors, head_rows(checkpoint, head)
    own_names = {row.source for row in own_rows}
    others = {row.source for other in HEADS for row in head_rows(checkpoint, other)}
    others.update(filter(checkpoint.is_known_extra, tensors.shapes))
    unknown = tensors.shapes.keys() - others
    if outside := sorted(filter(checkpoint.is_outside, unknown)):
        warnings.warn(
            "The checkpoint has tensors that belong to no head of this package; ignored: "
            f"{shortened(', '.join(outside), 1000)}.",
            stacklevel=4,
        )
        others.update(outside)
    backbone = model if head is None else model.backbone
    # transformers saves no pooler with heads that do not read it. Then the pooler is new,
    # and is trained with a new head.
    is_optional = head is None or not model.reads_pooled_output
    entries = compare_variables(
        model,
        tensors,
        expand_rows(checkpoint.backbone_rows + own_rows, backbone.albert_config),
        skipped_names=others - own_names,
        optional_targets=[v.path for v in backbone.pooler.weights if is_optional],
    )
    if report is not None:
        write_json(report, [dataclasses.asdict(entry) for entry in entries])
    assign_variables(model, tensors, entries)
    kept = [entry.target for entry in entries if entry.status == "kept"]
    if kept and head is None:
        warnings.warn(f"Not in the files, so new: {', '.join(kept)}.", stacklevel=4)
