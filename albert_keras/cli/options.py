"""Command-line options derived from the fields of configurations."""

import argparse
import dataclasses
import inspect
import re

from albert_keras.options import check_value, given_of, kind_of
from albert_keras.runs.finetuning_config import BatchOptions, ExitOptions, RowOptions
from albert_keras.runs.preparation import ModelTokenizerOptions

# Placeholders for values in the help, by type.
METAVARS = {int: "N", float: "X"}


def flag_of(name):
    """Returns the flag of an option."""
    # The flag of a switch changes its default, and `from` is no name in Python.
    name = {"favor_shorter": "favor_longer", "source": "from"}.get(name, name)
    return f"--{name.replace('_', '-')}"


def add_options(parser, config_class, leave_out=()):
    """Adds the flags of a configuration's fields.

    Each class that declares fields has a group in the help, and so has each option that
    is a dict. The fields of `config_class` itself are in no group.

    Args:
        parser: `Parser`.
        config_class: Subclass of `Options`.
        leave_out: Names of fields without a flag.
    """
    titles = {}
    for part in config_class.__mro__:
        # A field that several classes declare is in the group of the last one.
        title = re.split("[.:]", part.__doc__)[0]
        titles |= dict.fromkeys(inspect.get_annotations(part), title)
    groups = {re.split("[.:]", config_class.__doc__)[0]: parser}
    for name, title in titles.items():
        if name not in leave_out:
            metadata = config_class.__dataclass_fields__[name].metadata
            title = metadata["help"] if metadata["members"] else title
            if title not in groups:
                groups[title] = parser.add_argument_group(title)
            add_option(groups[title], config_class, name)


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
        choices = metadata["choices"]
        options |= {
            "type": _parser_of(field),
            "choices": choices,
            "metavar": "NAME" if _are_many(choices) else METAVARS.get(kind),
        }
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


@dataclasses.dataclass(frozen=True, kw_only=True)
class InferenceOptions(BatchOptions, RowOptions, ExitOptions, ModelTokenizerOptions):
    """Options that `predict` and `evaluate` share."""


def inference_options(arguments):
    """Returns the arguments of `predict_with_run` and `evaluate_run`, a dict."""
    tokenizer = config_from(arguments, ModelTokenizerOptions)
    return {
        "batch_size": arguments.batch_size,
        "reading": config_from(arguments, RowOptions),
        "exit_rule": config_from(arguments, ExitOptions).rule(),
        "tokenizer": tokenizer.given_tokenizer(arguments.model),
    }
