"""Convert weights from one library to another.

The source is recognised from the files: Google's TensorFlow 1 checkpoints, albert_zh's
older ones, SavedModels as from TF-Hub, Hugging Face folders, presets of keras-hub and of
this package. The vocabulary beside them is copied too. A preset, the default, loads
with `AlbertPretrainer.from_preset` and `finetune --checkpoint`.

example:
  albert-keras convert albert_base_v2/ --output presets/base
  albert-keras convert presets/base --to huggingface --output for_transformers --verify
"""

import dataclasses
import pathlib
from collections.abc import Mapping

from albert_keras import converters
from albert_keras.cli.choices import CHECKPOINT_FORMATS, HEADS, SOURCES
from albert_keras.cli.options import add_option, config_from
from albert_keras.cli.results import print_results
from albert_keras.config import PRESETS, WEIGHTLESS_FIELDS, AlbertConfig
from albert_keras.hub import local_files
from albert_keras.options import Options, members_of, option
from albert_keras.runs.preparation import TokenizerOptions
from albert_keras.runs.reporting import note
from albert_keras.runs.shapes import changed_fields
from albert_keras.tokenizers.loading import find_vocabulary

# Sources whose library still runs, so that outputs can be compared.
COMPARED_SOURCES = ("huggingface", "keras_hub")
# Rounding stays far below it, and a wrong weight far above.
VERIFICATION_TOLERANCE = 1e-3
NONE = "none"

USAGE = "CHECKPOINT --output FOLDER [options]"


@dataclasses.dataclass(frozen=True, kw_only=True)
class ChangeOptions(Options):
    """Changes of a converted model."""

    num_classes: int | None = option(
        "classes of the head (default: unchanged)", None, minimum=1, maximum=10**6
    )
    architecture: Mapping = option(
        "fields of `AlbertConfig`",
        members=members_of(
            AlbertConfig,
            {
                "sharing": "sharing mode (default: unchanged)",
                "num_groups": "number of layer groups (default: unchanged)",
                "num_layers": "number of layers (default: unchanged)",
                "max_sequence_length": "positions: the first ones are kept, or all "
                "repeated (default: unchanged)",
                "vocabulary_size": "number of rows of the token table (default: "
                "unchanged)",
            },
        )
        | changed_fields(dict.fromkeys(WEIGHTLESS_FIELDS, "unchanged")),
    )


def add_arguments(parser):
    parser.add_argument(
        "checkpoint", help="run, or folder, prefix, name or address of a checkpoint"
    )
    parser.add_argument(
        "--output", required=True, help="folder to write, or address (hf://USER/MODEL)"
    )
    parser.add_argument(
        "--to",
        default="keras",
        choices=CHECKPOINT_FORMATS,
        help="format to write (default: keras, a preset of this package)",
    )
    parser.add_argument(
        "--head",
        choices=[*HEADS, NONE],
        help="head of the model (default: the one in the files)",
    )
    parser.add_argument(
        "--verify",
        action="store_true",
        help="run the libraries of both sides on random input, and compare",
    )
    parser.add_argument(
        "--report", help="JSON file for a report of all variables (default: none)"
    )
    source = parser.add_argument_group("source")
    source.add_argument(
        "--from",
        dest="source",
        choices=SOURCES,
        help="format (default: recognised from the files)",
    )
    source.add_argument(
        "--config",
        help="configuration of files without one: a JSON file of Google's keys, or the "
        f"name of a published size: {', '.join(PRESETS)} (default: that of the files)",
    )
    source.add_argument(
        "--tokenizer",
        help="SentencePiece model, vocab.txt, a folder with either, a preset, a "
        "name or an address (default: that of the checkpoint)",
    )
    for name in ("cased", "keep_accents"):
        add_option(source, TokenizerOptions, name)
    changes = parser.add_argument_group("changes of the model")
    for name in ChangeOptions.__dataclass_fields__:
        add_option(changes, ChangeOptions, name)


def run(arguments):
    changes = config_from(arguments, ChangeOptions)
    converters.check_replaceable(arguments.output, arguments.to)
    arguments.checkpoint = local_files(arguments.checkpoint)
    source, _ = converters.recognise(arguments.checkpoint, arguments.source)
    own_head = converters.find_head(arguments.checkpoint, source)
    head = {None: own_head, NONE: None}.get(arguments.head, arguments.head)
    model = converters.load_checkpoint(
        arguments.checkpoint,
        _read_config(arguments.config),
        head,
        num_classes=changes.num_classes,
        source=source,
        report=arguments.report,
    )
    results = {"source": source, "format": arguments.to, "output": arguments.output}
    if arguments.verify and source in COMPARED_SOURCES:
        compared = model if head in (own_head, None) else model.backbone
        results["source_differences"] = _verify(compared, arguments.checkpoint)
    architecture = dict(changes.architecture)
    vocabulary_size = architecture.pop("vocabulary_size", None)
    if architecture:
        model = converters.change_architecture(model, **architecture)
    if vocabulary_size is not None:
        model = converters.resize_vocabulary(model, vocabulary_size)
    tokenizer = _load_tokenizer(arguments)
    converters.save_checkpoint(
        model, arguments.output, arguments.to, tokenizer=tokenizer
    )
    if arguments.verify:
        results["output_differences"] = _verify(model, arguments.output)
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


def _load_tokenizer(arguments):
    """Loads the given tokenizer, or the one beside the weights, if any."""
    if arguments.tokenizer is None:
        if arguments.vocabulary_size is not None:
            note("the vocabulary is left out: the token table has another size now")
            return None
        if find_vocabulary(arguments.checkpoint) is None:
            return None
        arguments.tokenizer = arguments.checkpoint
    return config_from(arguments, TokenizerOptions).load_tokenizer()


def _verify(model, path):
    try:
        comparison = converters.compare_outputs(model, path)
    except (ImportError, NotImplementedError) as error:
        note(f"{path} is not verified: {error}")
        return {"not_verified": str(error)}
    differences = comparison.differences
    # NaN is not below the tolerance either.
    if not all(value < VERIFICATION_TOLERANCE for value in differences.values()):
        raise ValueError(
            f"Outputs must be within {VERIFICATION_TOLERANCE} of those of "
            f"{comparison.library}. Received: {differences} of '{path}'."
        )
    for name, size in comparison.known.items():
        note(f"{path}: known difference, {name}: {size:.2g}")
    return {"by": comparison.library, **differences, **comparison.known}
