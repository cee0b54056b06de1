"""Argument checks shared by several modules. Errors name the argument and its value."""

import importlib
import numbers
import os
import pathlib

# Characters of a received value in an error message: a path or a few names.
_SHOWN_CHARACTERS = 120


def shortened(text, num_characters=_SHOWN_CHARACTERS):
    """Returns the beginning of a text, for errors with long values from files.

    >>> shortened("a" * 1_000_000)[100:]
    'aaaaaaaaaaaaaaaaaaaa... (1,000,000 characters)'
    """
    if len(text) <= num_characters:
        return text
    return f"{text[:num_characters]}... ({len(text):,} characters)"


def shown(value):
    """Returns the beginning of the `repr` of a value, for errors."""
    return shortened(repr(value))


def check_positive_integer(name, value):
    """Raises a ValueError if an argument is not a positive integer."""
    if not (type(value) is int and value > 0):
        raise ValueError(
            f"`{name}` must be a positive integer. Received: {name}={shown(value)}."
        )


def is_number(value):
    """Returns whether `value` is a real number, and not a bool."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def check_rate(name, value):
    """Raises a ValueError if an argument is not a dropout rate, a number in [0, 1)."""
    if not (is_number(value) and 0.0 <= value < 1.0):
        raise ValueError(
            f"`{name}` must be in [0, 1). Received: {name}={shown(value)}."
        )


def check_choice(name, value, choices):
    """Raises a ValueError if an argument is not one of the iterable `choices`."""
    # A list or dict, as from JSON, cannot be looked up in a dict.
    if value not in [*choices]:
        raise ValueError(
            f"`{name}` must be one of {', '.join(map(str, choices))}. "
            f"Received: {name}={shown(value)}."
        )


# Names of JSON's types.
_KINDS = {
    int: "an integer, 0 or more",
    str: "a string",
    list: "a list",
    dict: "an object",
    bool: "true or false",
}


def check_json(value, template, file, name="content"):
    """Raises a ValueError if the content of a JSON file does not match a template.

    Args:
        value: Content of the file, or a part of it.
        template: A key of `_KINDS`; a list with the template of every item; or a dict of
            templates by key, with `{str: template}` for any keys. More keys are allowed.
        file: str or path, for the error.
        name: str. Key of the part, for the error.

    >>> check_json({"rows": [3, 5], "note": None}, {"rows": [int]}, "a.json")
    """
    kind = template if isinstance(template, type) else type(template)
    # Not `isinstance`, for which true is an integer.
    if type(value) is not kind or (kind is int and value < 0):
        raise ValueError(
            f"`{shortened(name)}` must be {_KINDS[kind]}, in a file of this kind. "
            f"Received: {shown(value)} in '{file}'."
        )
    if isinstance(template, list):
        for item in value:
            check_json(item, template[0], file, name)
    elif isinstance(template, dict):
        for key in value if str in template else template:
            check_json(value.get(key), template.get(str) or template[key], file, key)


def import_optional(module, extra):
    """Imports a module of an extra of the package.

    Args:
        module: str.
        extra: str. Name of the extra in `setup.cfg`.

    Raises:
        ImportError: If it is absent; the message says how to install it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"The module `{module}` is required. Received: {error}. Install it with "
            f'pip install "albert_keras[{extra}]".'
        ) from error


def existing_file(path, argument):
    """Returns `path` as a `pathlib.Path`; raises a ValueError if it is not a file."""
    if not os.path.isfile(path):
        raise ValueError(
            f"`{argument}` must be the path of a file. "
            f"Received: {argument}={shown(str(path))}, which does not exist."
        )
    return pathlib.Path(path)


def check_is_list(name, values):
    """Raises a TypeError if an argument is one text, a dict or a pandas table.

    Iteration over these yields characters or column names instead of rows.
    """
    is_table = hasattr(values, "columns")
    if isinstance(values, str | bytes | dict) or is_table:
        remedy = "Pass its rows as dicts" if is_table else "Write it in brackets"
        raise TypeError(
            f"`{name}` must be a list. Received: {name}={shown(values)}, a "
            f"{type(values).__name__}. {remedy}."
        )


def check_different(kind, names):
    """Raises a ValueError if two things of a kind, such as runs, have the same name."""
    if len(set(names)) < len(names):
        raise ValueError(
            f"The {kind} must have different names. Received: {', '.join(names)}."
        )


def check_text(text):
    """Raises a TypeError if `text` is not a str, a ValueError for a lone surrogate."""
    if not isinstance(text, str):
        raise TypeError(
            f"Texts must be str. Received: {shown(text)} (of type {type(text).__name__})."
        )
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            "Texts must be valid Unicode, without lone surrogates. Received: "
            f"{text[error.start]!r}, character {error.start:,} of {shown(text)}. "
            'Replace it: `text.encode(errors="replace").decode()`.'
        ) from None
