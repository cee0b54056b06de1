"""Checks of values that several rooms make, with one wording of their errors."""

import dataclasses
import importlib
import numbers
import os
import pathlib


def check_positive_integers(instance):
    """Checks every field of a dataclass that is annotated as `int`.

    Args:
        instance: Dataclass instance, as in its `__post_init__`.

    Raises:
        ValueError: If one is not a positive integer, with its name and value.
    """
    for field in dataclasses.fields(instance):
        if field.type is int:
            check_positive_integer(field.name, getattr(instance, field.name))


def check_positive_integer(name, value):
    """Checks that an argument is a positive integer.

    Args:
        name: str. The argument's name.
        value: Its value.

    Raises:
        ValueError: If it is not, with its name and value.
    """
    if not (type(value) is int and value > 0):
        raise ValueError(
            f"`{name}` must be a positive integer. Received: {name}={value!r}."
        )


def is_number(value):
    """Tells real numbers from all else, bools too.

    Args:
        value: Anything.
    """
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def check_rate(name, value):
    """Checks that an argument is a rate of dropout.

    Args:
        name: str. The argument's name.
        value: Its value.

    Raises:
        ValueError: If it is no number in [0, 1), with its name and value.
    """
    if not (is_number(value) and 0.0 <= value < 1.0):
        raise ValueError(f"`{name}` must be in [0, 1). Received: {name}={value!r}.")


def check_choice(name, value, choices):
    """Checks that an argument is one of the known names.

    Args:
        name: str. The argument's name.
        value: Its value.
        choices: Iterable of str.

    Raises:
        ValueError: If it is not; the message lists the choices.
    """
    if value not in choices:
        raise ValueError(
            f"`{name}` must be one of {', '.join(map(str, choices))}. "
            f"Received: {name}={value!r}."
        )


def import_optional(module, extra):
    """Imports a module that only some uses of the package need.

    Args:
        module: str.
        extra: str. Name of the extra in `setup.cfg` that installs it.

    Returns:
        The module.

    Raises:
        ImportError: If it is absent, saying how to install it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"This needs the module `{module}`. Received: {error}. Install it by "
            f'pip install "albert_keras[{extra}]".'
        ) from error


def existing_file(path, argument):
    """Returns a path as a `pathlib.Path`, if a file stands there.

    Args:
        path: str or path.
        argument: str. Name of the argument that holds it.

    Raises:
        ValueError: If there is no file.
    """
    if not os.path.isfile(path):
        raise ValueError(
            f"`{argument}` must be the path of a file. "
            f"Received: {argument}={str(path)!r}, where there is none."
        )
    return pathlib.Path(path)


def check_text(text):
    """Checks that a text is a str.

    Args:
        text: What should be one.

    Raises:
        TypeError: If it is not; the message shows it.
    """
    if not isinstance(text, str):
        raise TypeError(
            f"Texts must be str. Received: {text!r} (of type {type(text).__name__})."
        )
