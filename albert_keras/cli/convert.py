"""Convert weights of one library to those of another.

The source is recognised from the files: Google's TensorFlow 1 checkpoints, albert_zh's
older ones, SavedModels as from TF-Hub, Hugging Face folders, presets of keras-hub and of
this package. The vocabulary beside them is copied too. A preset, the default, loads
with `AlbertPretrainer.from_preset` and `finetune --checkpoint`.

example:
  albert-keras convert albert_base_v2/ --output presets/base
  albert-keras convert presets/base --to huggingface --output for_transformers --verify
"""

import pathlib

from albert_keras.cli.options import add_option, config_from, flag_of, positive_int
from albert_keras.cli.results import print_results
from albert_keras.config import PRESETS, SHARING
from albert_keras.converters import (
    CHECKPOINT_FORMATS,
    SOURCES,
    change_architecture,
    load_checkpoint,
    resize_vocabulary,
    save_checkpoint,
)
from albert_keras.converters.google import read_config_file
from albert_keras.converters.recognition import find_head, recognise
from albert_keras.converters.saving import check_replaceable
from albert_keras.converters.verification import compare_outputs
from albert_keras.models import HEADS
from albert_keras.runs.preparation import TokenizerOptions
from albert_keras.runs.reporting import note
from albert_keras.shipped import SHIPPED_MODELS, find_preset
from albert_keras.tokenizers.loading import find_vocabulary

# Sources whose library still runs, so that outputs can be compared.
COMPARED_SOURCES = ("huggingface", "keras_hub")
# Rounding stays far below it, and a wrong weight far above.
VERIFICATION_TOLERANCE = 1e-3
NO_HEAD = "none"
NO_TOKENIZER = "none"


def add_arguments(parser):
    parser.add_argument(
        "checkpoint", help="folder, prefix of a checkpoint, or name of a shipped model"
    )
    parser.add_argument("--output", required=True, help="folder to write")
    parser.add_argument(
        "--to",
        default="keras",
        choices=list(CHECKPOINT_FORMATS),
        help="format to write (default: keras, a preset of this package)",
    )
    parser.add_argument(
        "--head",
        choices=[*HEADS, NO_HEAD],
        help="head of the model (default: the one in the files)",
    )
    parser.add_argument(
        "--verify",
        action="store_true",
        help="run the libraries of both sides on random input, and compare",
    )
    parser.add_argument("--report", help="write a JSON report of all variables")
    source = parser.add_argument_group("source (default: recognised from the files)")
    source.add_argument("--from", dest="source", choices=SOURCES, help="format")
    source.add_argument(
        "--config",
        help="configuration of files without one: a JSON file of Google's keys, or the "
        f"name of a published size: {', '.join(PRESETS)}",
    )
    source.add_argument(
        "--tokenizer",
        help="SentencePiece model, vocab.txt, a folder with either, a preset or a "
        f"shipped model ({', '.join(SHIPPED_MODELS)}); default: that of the checkpoint",
    )
    for name in ("cased", "keep_accents"):
        add_option(source, TokenizerOptions, name)
    changes = parser.add_argument_group("changes of the model")
    changes.add_argument("--sharing", choices=SHARING, help="change the sharing mode")
    for name, about in (
        ("num_classes", "classes of a new head"),
        ("num_groups", "number of layer groups"),
        ("num_layers", "number of layers"),
        (
            "max_sequence_length",
            "number of positions: the first ones are kept, or all repeated",
        ),
        ("vocabulary_size", "number of rows of the token table"),
    ):
        changes.add_argument(flag_of(name), type=positive_int, help=about)


def run(arguments):
    check_replaceable(arguments.output, arguments.to)
    source, _ = recognise(arguments.checkpoint, arguments.source)
    head = _choose_head(arguments)
    model = load_checkpoint(
        arguments.checkpoint,
        _read_config(arguments.config),
        head,
        num_classes=arguments.num_classes,
        source=source,
        report=arguments.report,
    )
    results = {"source": source, "format": arguments.to, "output": arguments.output}
    if arguments.verify and source in COMPARED_SOURCES:
        has_head = find_head(arguments.checkpoint, source) == head
        compared = model if has_head or head is None else model.backbone
        results["source_differences"] = _verify(compared, arguments.checkpoint)
    model = _change(model, arguments)
    tokenizer = _load_tokenizer(arguments)
    save_checkpoint(model, arguments.output, arguments.to, tokenizer=tokenizer)
    if arguments.verify:
        results["output_differences"] = _verify(model, arguments.output)
    config = getattr(model, "backbone", model).albert_config
    results.update(
        head=head or NO_HEAD,
        tokenizer=type(tokenizer).__name__ if tokenizer else NO_TOKENIZER,
        parameters=model.count_params(),
        config=config.to_dict(),
    )
    print_results("conversion", results, arguments.json)


def _choose_head(arguments):
    if arguments.head is None:
        return find_head(arguments.checkpoint, arguments.source)
    return None if arguments.head == NO_HEAD else arguments.head


def _read_config(text):
    if text is None:
        return None
    if text in PRESETS:
        return PRESETS[text]
    file = pathlib.Path(text)
    if not file.is_file():
        raise FileNotFoundError(
            "--config must be a JSON file or the name of a published size "
            f"({', '.join(PRESETS)}). Received: {text!r}."
        )
    return read_config_file(file)


def _change(model, arguments):
    changes = {
        name: getattr(arguments, name)
        for name in ("sharing", "num_groups", "num_layers", "max_sequence_length")
        if getattr(arguments, name) is not None
    }
    if changes:
        model = change_architecture(model, **changes)
    if arguments.vocabulary_size is not None:
        model = resize_vocabulary(model, arguments.vocabulary_size)
    return model


def _load_tokenizer(arguments):
    """Loads the given tokenizer, or the one beside the weights, if any."""
    if arguments.tokenizer is None:
        if arguments.vocabulary_size is not None:
            note("the vocabulary is left out: the token table has another size now")
            return None
        if find_vocabulary(find_preset(arguments.checkpoint)) is None:
            return None
        arguments.tokenizer = arguments.checkpoint
    return config_from(arguments, TokenizerOptions).load_tokenizer()


def _verify(model, path):
    try:
        comparison = compare_outputs(model, path)
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
