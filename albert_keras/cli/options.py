"""Command-line options derived from the fields of configurations."""

import argparse
import dataclasses

from albert_keras.options import check_value, kind_of
from albert_keras.runs.preparation import TokenizerOptions
from albert_keras.runs.training import OptimizerOptions

# Group of `ExitOptions` in the help.
EXIT_GROUP = {
    "early exit": ("exit_rule", "exit_threshold", "exit_patience", "exit_min_depth")
}

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


# Values of options in the help, by type.
METAVARS = {int: "N", float: "X"}


def flag_of(name):
    """Returns the flag of an option; of a switch, the one that changes the default."""
    name = {"favor_shorter": "favor_longer"}.get(name, name)
    return f"--{name.replace('_', '-')}"


def add_options(parser, config_class, first, groups):
    """Adds a flag for each field of a configuration.

    Fields in `first`, which people use first, head the help. `groups` maps the title of a
    group to its fields; those in `first`, or absent, are left out.
    """
    for name in first:
        add_option(parser, config_class, name)
    flags = config_class.__dataclass_fields__.keys() - {*first}
    for title, names in groups.items():
        group = parser.add_argument_group(title)
        for name in names:
            if name in flags:
                add_option(group, config_class, name)


def add_option(container, config_class, name):
    """Adds the flag of a field, or those of its members, to a parser or a group."""
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
        # Each value begins with dashes: `--runner-option=--NAME=VALUE`.
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
    """Returns the help of an option, with its values and the declared default."""
    about, choices = field.metadata["help"], field.metadata["choices"]
    about, *end = about.partition(" (default")
    if _are_many(choices) and not all(choice in about for choice in choices):
        about = f"{about}: {', '.join(choices)}"
    elif kind_of(field) in METAVARS and str(field.metadata["range"]):
        about = f"{about}; {field.metadata['range']}"
    about += "".join(end)
    default = "on" if field.default is True else field.default
    # A required option has none, a switch is off, and some helps say what None means.
    is_stated = default is not dataclasses.MISSING and default is not False
    if is_stated and "(default" not in about:
        about = f"{about} (default: {'none' if default in (None, ()) else default})"
    return about.replace("%", "%%")


def _are_many(choices):
    """Returns whether choices are too long for the place of an option's value."""
    return len(", ".join(choices or ())) > 50


def add_dry_run(parser):
    """Adds `--dry-run`."""
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="only measure some steps: shapes, memory, speed, time to finish",
    )


def config_from(arguments, config_class):
    """Builds a configuration from parsed arguments; a command may lack some flags."""
    values, given = vars(arguments), {}
    for name, field in config_class.__dataclass_fields__.items():
        if members := field.metadata["members"]:
            given[name] = given_of(arguments, [m for m in members if m in values])
        elif name in values:
            value = values[name]
            given[name] = tuple(value) if isinstance(value, list) else value
    return config_class(**given)


def given_of(arguments, names):
    """Returns the arguments of some names that are given, a dict."""
    values = {name: getattr(arguments, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


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

    # For the message of argparse about text that is not a number.
    parse.__name__ = kind.__name__
    return parse


def add_tokenizer_options(group):
    """Adds `--tokenizer`, `--cased` and `--keep-accents` to a group."""
    group.add_argument(
        "--tokenizer",
        help="SentencePiece model, vocab.txt, tokenizer.json, a folder with one, a "
        "preset, a name or an address (default: that of the checkpoint)",
    )
    for name in ("cased", "keep_accents"):
        add_option(group, TokenizerOptions, name)


def given_tokenizer(arguments, checkpoint):
    """Returns the tokenizer that options ask for, or `None` if there are none."""
    if not (arguments.tokenizer or arguments.cased or arguments.keep_accents):
        return None
    options = config_from(arguments, TokenizerOptions)
    return options.load_tokenizer(arguments.tokenizer or checkpoint)
