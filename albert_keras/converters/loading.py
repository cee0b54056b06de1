"""Loading a checkpoint from whatever source its files show."""

import dataclasses
import pathlib
import warnings

import keras

from albert_keras.checks import check_choice
from albert_keras.config import AlbertConfig
from albert_keras.converters import (
    albert_zh,
    google,
    huggingface,
    keras_hub,
    saved_model,
)
from albert_keras.converters.hdf5_file import read_hdf5
from albert_keras.converters.name_table import (
    assign_variables,
    compare_variables,
    expand_rows,
    read_json,
)
from albert_keras.converters.stored_tensors import readable
from albert_keras.files import write_json
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
from albert_keras.tokenizers.loading import count_pieces, find_vocabulary

# Each is a module with `find_checkpoint`, `read_config`, `read_head`,
# `read_head_options`, `read_tensors`, `BACKBONE_ROWS` and `HEAD_ROWS`; where the format
# can be written, with `write_checkpoint` too. The first whose files are found is taken.
CONVERTERS = {
    "huggingface": huggingface,
    "keras_hub": keras_hub,
    "saved_model": saved_model,
    "albert_zh": albert_zh,
    "google": google,
}
# What our own presets are called among them.
KERAS = "keras"
SOURCES = (KERAS, *CONVERTERS)

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
# The variable whose length is a number of classes, and whose argument that is.
CLASSES = {
    "pretraining": ("sop/bias", "num_pair_classes"),
    "sequence_classification": ("logits/bias", "num_classes"),
    "token_classification": ("logits/bias", "num_classes"),
}

# What Keras raises on presets that are damaged.
_PRESET_ERRORS = (
    OSError,
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    RuntimeError,
)


def load_checkpoint(
    path,
    config=None,
    head="pretraining",
    *,
    num_classes=None,
    source=None,
    report=None,
):
    """Loads a published checkpoint, or a preset folder of ours, into a model.

    The source is told from the files: `model.safetensors`, `pytorch_model.bin` or
    `tf_model.h5` is a Hugging Face folder; `*.index` a checkpoint of TensorFlow 1, in
    Google's layout or the older one of albert_zh; `saved_model.pb` a SavedModel, as from
    TF-Hub; a `config.json` that names keras-hub's classes or ours a preset. Files are
    read as data, and nothing in them is executed. A vocabulary that stands beside must
    be as large as the token table; `load_tokenizer` loads it.

    Args:
        path: str or path. A folder, the prefix of a TensorFlow checkpoint, or the name
            of a shipped model; or a model of keras-hub.
        config: `AlbertConfig`, or `None` to read the one beside the weights. A preset
            has its own; SavedModels of TF-Hub have none.
        head: `"pretraining"` (an `AlbertPretrainer`), `"sequence_classification"` (an
            `AlbertTextClassifier`), `"token_classification"` (an
            `AlbertTokenClassifier`), `"question_answering"` (an
            `AlbertQuestionAnswerer`), `"multiple_choice"` (an `AlbertMultipleChoice`),
            or `None` (an `AlbertBackbone`). A head for fine-tuning that the files do not
            have is new, with random weights, and a warning says so.
        num_classes: int, or `None`. Classes of a new head, by default 2; those of a head
            that the files have must agree.
        source: str or `None`. One of `SOURCES`, where files may be taken for another.
        report: path or `None`. Where a JSON file is written, also if the checkpoint
            does not fit, of every variable: its `status` (`"loaded"`; `"kept"` where the
            source need not have it; `"unused"` of another head; `"missing"`,
            `"unexpected"`, `"mis-shaped"`), its names and shapes on both sides.

    Returns:
        The model, in Keras' global dtype policy, every variable loaded but those of a
        new head. A file with the masked-word head alone gives, with a warning, an
        `AlbertPretrainer` with `num_pair_classes=0`.

    Raises:
        FileNotFoundError: If nothing known stands at `path`, or its config is absent.
        ValueError: If `head` is unknown, or the pretraining head is absent; if the
            config holds what is not understood, or any variable is missing, unexpected
            or mis-shaped; the message lists all. If a file is damaged, leads elsewhere
            or names what is no weight, or the vocabulary is of another size.

    Example:

    ```python
    pretrainer = ak.load_checkpoint("albert_base_v2")
    classifier = ak.load_checkpoint("my_run", head="sequence_classification")
    ```
    """
    check_choice("head", head, MODELS)
    if source is not None:
        check_choice("source", source, SOURCES)
    name, checkpoint = recognise(path, source)
    if name == KERAS:
        return _load_preset(checkpoint, config, head, num_classes)
    source = CONVERTERS[name]
    if config is None:
        config = source.read_config(checkpoint)
    elif not isinstance(config, AlbertConfig):
        raise TypeError(
            f"`config` must be an `AlbertConfig` or `None`. Received: {config!r}."
        )
    if not isinstance(path, keras.Model):
        _check_vocabulary(path, config)
    tensors = source.read_tensors(checkpoint)
    backbone = AlbertBackbone(**config.to_dict())
    if not _has_head(source, checkpoint, head, tensors):
        if head is not None:
            _check_may_be_new(head, checkpoint)
        _assign(source, backbone, tensors, None, report)
        return _add_new_head(backbone, head, num_classes, checkpoint)
    options = _head_options(source, checkpoint, head, tensors)
    _check_num_classes(num_classes, options, checkpoint)
    model = MODELS[head](backbone, **options)
    _assign(source, model, tensors, head, report)
    return model


def recognise(path, source=None):
    """Tells the source of a checkpoint from its files.

    Args:
        path: str or path, as for `load_checkpoint`; or a model of keras-hub.
        source: str or `None`. The only one to look for.

    Returns:
        Tuple of a name in `SOURCES`, and what that source's functions take.

    Raises:
        FileNotFoundError: If nothing known stands there.
    """
    if isinstance(path, keras.Model):
        return "keras_hub", keras_hub.find_checkpoint(path)
    path = find_preset(path)
    if source in (None, KERAS) and _is_preset(path):
        return KERAS, pathlib.Path(path)
    for name, converter in CONVERTERS.items():
        if source in (None, name):
            checkpoint = converter.find_checkpoint(path)
            if checkpoint is not None:
                return name, checkpoint
    raise FileNotFoundError(
        "`path` must be a folder or prefix of a known checkpoint: Google or albert_zh "
        "(`*.index`), a SavedModel (`saved_model.pb` and `variables/`), Hugging Face "
        f"({', '.join(huggingface.READERS)}), a preset (`config.json`), or the "
        f"name of a shipped model ({', '.join(SHIPPED_MODELS)}). "
        f"Received: path={str(path)!r}" + (f", source={source!r}." if source else ".")
    )


def find_head(path, source=None):
    """Returns the head that a checkpoint has, or `None`.

    What the files state is taken, and else the first head of which they have a
    variable: Google's classifiers and multiple-choice models look alike.

    Args:
        path: str or path, as for `load_checkpoint`; or a model of keras-hub.
        source: str or `None`. The only one to look for.

    Raises:
        FileNotFoundError: If nothing known stands there.
    """
    name, checkpoint = recognise(path, source)
    if name == KERAS:
        saved = registered_name(checkpoint, "task.json")
        names = {
            keras.saving.get_registered_name(MODELS[head]): head for head in MODELS
        }
        return names.get(saved)
    converter = CONVERTERS[name]
    stated = converter.read_head(checkpoint)
    if stated is not None:
        return stated
    tensors = converter.read_tensors(checkpoint)
    return next(
        (
            head
            for head, rows in converter.HEAD_ROWS.items()
            if any(row.source in tensors for row in rows)
        ),
        None,
    )


def _is_preset(path):
    file = pathlib.Path(path, "config.json")
    stated = read_json(file).get("registered_name") if file.is_file() else None
    return str(stated).startswith("albert_keras>")


def _check_vocabulary(path, config):
    """Checks that the vocabulary beside a checkpoint, if any, fits its token table."""
    file = find_vocabulary(path)
    if file is None:
        return
    num_pieces = count_pieces(file)
    if num_pieces != config.vocabulary_size:
        raise ValueError(
            "The vocabulary beside a checkpoint must be as large as the token table. "
            f"Received: '{file}' of {num_pieces} pieces, "
            f"vocabulary_size={config.vocabulary_size}. Put the right one there, or "
            "none, and see `resize_vocabulary`."
        )


def _has_head(source, checkpoint, head, tensors):
    if source.read_head(checkpoint) not in (None, head):
        return False
    return any(row.source in tensors for row in source.HEAD_ROWS.get(head, ()))


def _add_new_head(backbone, head, num_classes, checkpoint):
    if head is None:
        return backbone
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
        f"{_name_of(checkpoint)} has no {head} head: the model has a new "
        f"one{of_classes}, with random weights. Fine-tune it before use.",
        stacklevel=4,
    )
    return options


def _head_options(source, checkpoint, head, tensors):
    options = source.read_head_options(checkpoint, head)
    if head in CLASSES:
        target, argument = CLASSES[head]
        names = [row.source for row in source.HEAD_ROWS[head] if row.target == target]
        sizes = [tensors.shapes[name][0] for name in names if name in tensors]
        if not sizes and head == "pretraining":
            # So are the folders that Hugging Face publishes, TF-Hub's and keras-hub's.
            warnings.warn(
                f"{_name_of(checkpoint)} has no sentence-pair head; the model has none "
                "either.",
                stacklevel=3,
            )
        # Of other heads it will be among what is missing.
        default = 0 if head == "pretraining" else NUM_CLASSES
        options[argument] = sizes[0] if sizes else default
    return options


def _name_of(checkpoint):
    return checkpoint.name if isinstance(checkpoint, keras.Model) else checkpoint


def _check_num_classes(num_classes, options, checkpoint):
    found = options.get("num_classes")
    if num_classes is not None and num_classes != found:
        raise ValueError(
            "`num_classes` must be that of the files, or `None`. Received: "
            f"num_classes={num_classes}, {checkpoint} with {found}. For a new head load "
            "it with `head=None`, and put the head on."
        )


def _assign(source, model, tensors, head, report):
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
    entries = compare_variables(
        model,
        tensors,
        expand_rows(source.BACKBONE_ROWS + own_rows, backbone.albert_config),
        skipped_names=other_heads,
        optional_targets=[variable.path for variable in idle],
    )
    if report is not None:
        write_json(report, [dataclasses.asdict(entry) for entry in entries])
    assign_variables(model, tensors, entries)


def _load_preset(path, config, head, num_classes):
    if config is not None:
        raise ValueError(
            "`config` must be `None` for a preset, which has its own. "
            f"Received: path={str(path)!r}, config={config}."
        )
    model_class = MODELS[head]
    for file in path.glob("*.weights.h5"):
        read_hdf5(file)
    saved = registered_name(path, "task.json")
    is_new = head is not None and saved != keras.saving.get_registered_name(model_class)
    options = {}
    if is_new:
        _check_may_be_new(head, path)
        options = _new_head_options(head, num_classes, path)
    with readable(path, *_PRESET_ERRORS):
        model = model_class.from_preset(str(path), **options)
    if not is_new:
        _check_num_classes(num_classes, model.get_config(), path)
    return model
