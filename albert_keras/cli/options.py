"""Command-line options derived from the fields of configurations."""

import argparse
import dataclasses

from albert_keras.options import check_value, given_of, kind_of
from albert_keras.runs.finetuning_config import (
    ROW_FIELDS,
    BatchOptions,
    ExitOptions,
    RowOptions,
)
from albert_keras.runs.preparation import TokenizerOptions
from albert_keras.runs.training import OptimizerOptions

# Groups of `TrainingOptions` in the help.
TRAINING_GROUPS = {
    "tokenizer": ("cased", "keep_accents"),
    "optimizer": (
        *("optimizer", "warmup_steps", *OptimizerOptions.__dataclass_fields__),
        *("layer_decay", "seed"),
    ),
    "devices": (
        *("strategy", "precision", "micro_batches", "steps_per_execution"),
        "jit_compile",
    ),
    "evaluation and checkpoints": ("steps_per_evaluation", "steps_per_checkpoint"),
}


MODEL_GROUP = {"hyperparameters of the model": ("model_options",)}
EXAMPLES_GROUP = {"examples (see `PretrainingDataConfig`)": ("data_options",)}


# Placeholders for values in the help, by type.
METAVARS = {int: "N", float: "X"}


def flag_of(name):
    """Returns the flag of an option."""
    # The flag of a switch changes its default.
    name = {"favor_shorter": "favor_longer"}.get(name, name)
    return f"--{name.replace('_', '-')}"


def add_options(parser, config_class, first=None, groups=None):
    """Adds the flags of a configuration's fields.

    Args:
        parser: `Parser`.
        config_class: Subclass of `Options`.
        first: Names of the fields at the top of the help. Default: all fields.
        groups: Dict from the title of a group to its fields. Fields in `first`, and
            fields that the class does not have, are left out.
    """
    fields = config_class.__dataclass_fields__.keys()
    first = fields if first is None else first
    for name in first:
        add_option(parser, config_class, name)
    flags = fields - {*first}
    for title, names in (groups or {}).items():
        group = parser.add_argument_group(title)
        for name in names:
            if name in flags:
                add_option(group, config_class, name)


def add_option(container, config_class, name):
    """Adds the flag of a field, or the flags of its members, to a parser or a group."""
    field = config_class.__dataclass_fields__[name]
    if members := field.metadata["members"]:
        for member in members.values():
            _add_flag(container, member, None)
    elif field.default is dataclasses.MISSING:
        _add_flag(container, field, None, required=True)
    else:
        _add_flag(container, field, field.default)


def _add_flag(container, field, default, **options):
    kind, metadata = kind_of(field), field.metadata
    options |= {"dest": field.name, "default": default, "help": _about(field)}
    if kind is bool and field.default is False:
        options["action"] = "store_true"
    elif kind is bool:
        is_member = default is not field.default
        switch = argparse.BooleanOptionalAction
        options["action"] = "store_false" if is_member else switch
    elif default == ():
        # The value begins with dashes: `--runner-option=--NAME=VALUE`.
        options |= {"action": "append", "metavar": "=--NAME=VALUE", "default": []}
    elif kind is dict:
        options |= {"nargs": "+", "metavar": "LABEL=WEIGHT"}
    elif kind is tuple:
        options["nargs"] = "+"
    else:
        options |= {
            "type": _parser_of(field),
            "choices": metadata["choices"],
            "metavar": METAVARS.get(kind),
        }
        if _are_many(metadata["choices"]):
            options["metavar"] = "NAME"
    container.add_argument(flag_of(field.name), **options)


def _about(field):
    """Returns the help of an option, with its choices or range and its default."""
    about, choices = field.metadata["help"], field.metadata["choices"]
    about, *end = about.partition(" (default")
    if _are_many(choices) and not all(choice in about for choice in choices):
        about = f"{about}: {', '.join(choices)}"
    elif kind_of(field) in METAVARS and str(field.metadata["range"]):
        about = f"{about}; {field.metadata['range']}"
    about += "".join(end)
    default = "on" if field.default is True else field.default
    # A required option has none, a switch is off, and some texts have the default.
    is_stated = default is not dataclasses.MISSING and default is not False
    if is_stated and "(default" not in about:
        about = f"{about} (default: {'none' if default in (None, ()) else default})"
    return about.replace("%", "%%")


def _are_many(choices):
    """Returns whether choices are too long for the placeholder of a value."""
    return len(", ".join(choices or ())) > 50


def add_dry_run(parser):
    """Adds `--dry-run`."""
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="print shapes, memory, speed and time to finish; do not train",
    )


def config_from(arguments, config_class):
    """Builds a configuration from parsed arguments, which may lack some fields."""
    values, given = vars(arguments), {}
    for name, field in config_class.__dataclass_fields__.items():
        if members := field.metadata["members"]:
            given[name] = given_of(arguments, [m for m in members if m in values])
        elif name in values:
            value = values[name]
            given[name] = tuple(value) if isinstance(value, list) else value
    return config_class(**given)


def _parser_of(field):
    kind = kind_of(field)

    def parse(text):
        value = text if text in field.metadata["words"] else kind(text)
        if field.metadata["choices"] is not None:
            # argparse checks them.
            return value
        try:
            check_value(field, value)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        return value

    # argparse names the type in its error about text that is not a number.
    parse.__name__ = kind.__name__
    return parse


def add_tokenizer_options(group):
    """Adds `--tokenizer`, `--cased` and `--keep-accents` to a group."""
    group.add_argument(
        "--tokenizer",
        help="SentencePiece model, vocab.txt, tokenizer.json, folder with one of them, "
        "preset, name or address (default: that of the checkpoint)",
    )
    for name in ("cased", "keep_accents"):
        add_option(group, TokenizerOptions, name)


def given_tokenizer(arguments, checkpoint):
    """Loads the tokenizer if an option of it is given; otherwise returns `None`."""
    if not (arguments.tokenizer or arguments.cased or arguments.keep_accents):
        return None
    options = config_from(arguments, TokenizerOptions)
    return options.load_tokenizer(arguments.tokenizer or checkpoint)


def add_row_options(parser):
    """Adds the options of commands that read rows of a task."""
    add_option(parser, BatchOptions, "batch_size")
    add_options(parser, RowOptions, (), {"files of rows": ROW_FIELDS})


def add_exit_options(parser):
    """Adds the options of an exit rule."""
    fields = ExitOptions.__dataclass_fields__
    add_options(parser, ExitOptions, (), {"early exit": fields})


def add_inference_options(parser):
    """Adds the options that `predict` and `evaluate` share."""
    add_tokenizer_options(parser.add_argument_group("tokenizer"))
    add_row_options(parser)
    add_exit_options(parser)


def inference_options(arguments):
    """Returns the arguments of `predict_with_run` and `evaluate_run`, a dict."""
    return {
        "batch_size": arguments.batch_size,
        "reading": config_from(arguments, RowOptions),
        "exit_rule": config_from(arguments, ExitOptions).rule(),
        "tokenizer": given_tokenizer(arguments, arguments.model),
    }
