"""Convert weights from one library to another.

It recognizes the source by its files: Google's TensorFlow 1 checkpoints, the older ones
of albert_zh, SavedModels as from TF-Hub, Hugging Face folders, and presets of keras-hub
and this package. It also copies the vocabulary. The default format is a preset, for
`AlbertPretrainer.from_preset` and `finetune --checkpoint`.

example:
  albert-keras convert albert_base_v2/ --output presets/base
  albert-keras convert presets/base --to huggingface --output for_transformers
"""

import dataclasses
import pathlib
from collections.abc import Mapping

from albert_keras import converters
from albert_keras.cli.choices import CHECKPOINT_FORMATS, HEADS, SOURCES
from albert_keras.cli.options import add_options, config_from
from albert_keras.cli.results import print_results
from albert_keras.config import ATTENTION_FIELDS, PRESETS
from albert_keras.options import Options, Range, option
from albert_keras.presets.hub import local_files
from albert_keras.runs.preparation import ModelTokenizerOptions
from albert_keras.runs.reporting import warn
from albert_keras.runs.training import changed_fields
from albert_keras.tokenizers.loading import find_tokenizer

NONE = "none"
# Fields of `AlbertConfig` that may differ in the converted model.
CHANGEABLE = (
    *("sharing", "num_groups", "num_layers", "max_sequence_length", "vocabulary_size"),
    *ATTENTION_FIELDS,
)

USAGE = "CHECKPOINT --output FOLDER [options]"


@dataclasses.dataclass(frozen=True, kw_only=True)
class SourceOptions(Options):
    """Source."""

    source: str | None = option(
        "format (default: recognized by the files)", None, choices=SOURCES
    )
    config: str | None = option(
        "configuration for files without one: a JSON file with Google's keys, or the "
        f"name of a published size: {', '.join(PRESETS)} (default: of the files)",
        None,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ConversionOptions(SourceOptions, ModelTokenizerOptions):
    """Changes of the model, and what is written."""

    output: str = option("folder to write, or address (hf://USER/MODEL)")
    to: str = option(
        "format to write (default: keras, a preset of this package)",
        "keras",
        choices=CHECKPOINT_FORMATS,
    )
    head: str | None = option(
        "head of the model (default: the one in the files)",
        None,
        choices=[*HEADS, NONE],
    )
    report: str | None = option("JSON file for a report on all variables", None)
    num_classes: int | None = option(
        "classes of the head (default: unchanged)", None, Range(1, 10**6)
    )
    architecture: Mapping = option(
        "fields of `AlbertConfig`", members=changed_fields(CHANGEABLE, "unchanged")
    )


def add_arguments(parser):
    parser.add_argument(
        "checkpoint", help="run, or folder, prefix, name or address of a checkpoint"
    )
    add_options(parser, ConversionOptions)


def run(arguments):
    changes = config_from(arguments, ConversionOptions)
    converters.check_replaceable(arguments.output, arguments.to)
    arguments.checkpoint = local_files(arguments.checkpoint)
    source = converters.find_checkpoint(arguments.checkpoint, arguments.source).source
    architecture = dict(changes.architecture)
    vocabulary_size = architecture.pop("vocabulary_size", None)
    tokenizer = changes.given_tokenizer(arguments.checkpoint)
    model = converters.load_checkpoint(
        arguments.checkpoint,
        _read_config(arguments.config),
        {None: "auto", NONE: None}.get(arguments.head, arguments.head),
        tokenizer if vocabulary_size is None else False,
        num_classes=changes.num_classes,
        source=source,
        report=arguments.report,
    )
    head = converters.head_of(model)
    results = {"source": source, "format": arguments.to, "output": arguments.output}
    if architecture:
        model = converters.change_architecture(model, **architecture)
    if vocabulary_size is not None:
        model = converters.resize_vocabulary(model, vocabulary_size)
    tokenizer = _tokenizer_of(model, arguments.checkpoint, tokenizer)
    converters.save_checkpoint(model, changes.output, changes.to, tokenizer=tokenizer)
    config = getattr(model, "backbone", model).albert_config
    results.update(
        head=head or NONE,
        tokenizer=type(tokenizer).__name__ if tokenizer else NONE,
        parameters=model.count_params(),
        config=config.to_dict(),
    )
    print_results("conversion", results, arguments.json)


def _read_config(text):
    if text is None or text in PRESETS:
        return PRESETS.get(text)
    if not pathlib.Path(text).is_file():
        raise FileNotFoundError(
            "--config must be a JSON file or the name of a published size "
            f"({', '.join(PRESETS)}). Received: {text!r}."
        )
    return converters.read_config_file(pathlib.Path(text))


def _tokenizer_of(model, checkpoint, tokenizer):
    """Returns the tokenizer to write: the model's, the given one, or the checkpoint's."""
    if getattr(model, "preprocessor", None) is not None:
        return model.preprocessor.tokenizer
    backbone = getattr(model, "backbone", model)
    found = find_tokenizer(checkpoint, tokenizer, backbone.vocabulary_size)
    if found is None:
        warn("no tokenizer is written; see --tokenizer")
    elif model is not backbone:
        model.add_tokenizer(found, checkpoint)
    return found
