"""Command-line options derived from the fields of configurations."""

import argparse
import dataclasses

from albert_keras.options import check_value, kind_of


def flag_of(name):
    """Returns the flag of an option; of a switch, the one that changes the default."""
    name = {"favor_shorter": "favor_longer"}.get(name, name)
    return f"--{name.replace('_', '-')}"


# Groups of `TrainingOptions` in the help.
TRAINING_GROUPS = {
    "tokenizer": ("cased", "keep_accents"),
    "optimizer": ("optimizer", "warmup_steps", "weight_decay", "layer_decay", "seed"),
    "devices": (
        *("strategy", "precision", "micro_batches", "steps_per_execution"),
        "jit_compile",
    ),
    "evaluation and checkpoints": ("steps_per_evaluation", "steps_per_checkpoint"),
}


def add_options(parser, config_class, first, groups):
    """Adds a flag for each field of a configuration.

    Args:
        parser: `argparse.ArgumentParser`.
        config_class: A subclass of `Options`.
        first: Names of the fields that people use first, which head the help.
        groups: Dict from the title of a group to the names of its fields; those that
            are in `first`, or that the configuration does not have, are left out.
    """
    flags = config_class.__dataclass_fields__.keys() - {*first}
    for name in first:
        add_option(parser, config_class, name)
    for title, names in groups.items():
        group = parser.add_argument_group(title)
        for name in names:
            if name in flags:
                add_option(group, config_class, name)


def add_option(container, config_class, name):
    """Adds the flag of one field to a parser or a group of one."""
    field = config_class.__dataclass_fields__[name]
    kind, metadata = kind_of(field), field.metadata
    required = field.default is dataclasses.MISSING
    default = None if required else field.default
    about = metadata["help"].replace("%", "%%")
    if default not in (None, ()) and default is not False:
        about = f"{about} (default: {default})"
    options = {"help": about, "default": default}
    if kind is bool:
        switch = argparse.BooleanOptionalAction
        options["action"] = "store_true" if default is False else switch
    elif default == ():
        # Each value begins with dashes: `--runner-option=--NAME=VALUE`.
        options |= {"action": "append", "metavar": "=--NAME=VALUE", "default": []}
    elif kind is tuple:
        options["nargs"] = "+"
    else:
        options["type"] = _parser_of(name, kind, metadata)
        options |= {"required": required, "choices": metadata["choices"]}
    container.add_argument(flag_of(name), **options)


def add_dry_run(parser):
    """Adds `--dry-run`."""
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="only measure some steps: shapes, memory, speed, time to finish",
    )


def add_batch_size(parser, default):
    """Adds `--batch-size` of commands that do not train."""
    parser.add_argument(
        "--batch-size",
        type=positive_int,
        default=default,
        help=f"examples per batch (default: {default})",
    )


def positive_int(text):
    """Returns the positive int in a text, for argparse."""
    metadata = {"choices": None, "minimum": 1, "above": None}
    return _parser_of("value", int, metadata)(text)


def config_from(arguments, config_class, **dicts):
    """Builds a configuration from parsed arguments.

    Args:
        arguments: Namespace.
        config_class: A subclass of `Options`.
        **dicts: For each field that is a dict, the names of the arguments that go into
            it where they are given.
    """
    values = vars(arguments)
    fields = config_class.__dataclass_fields__
    given = {name: values[name] for name in fields if name in values}
    for field, names in dicts.items():
        given[field] = {n: values[n] for n in names if values[n] is not None}
    for name, value in given.items():
        if isinstance(value, list):
            given[name] = tuple(value)
    return config_class(**given)


def _parser_of(name, kind, metadata):
    def parse(text):
        value = kind(text)
        try:
            # argparse checks the choices.
            check_value(name, value, {**metadata, "choices": None})
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        return value

    # For the message of argparse about what is no number at all.
    parse.__name__ = kind.__name__
    return parse
