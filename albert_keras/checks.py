"""Checks of values that several rooms make, with one wording of their errors."""

import dataclasses


def check_positive_integers(instance):
    """Checks every field of a dataclass that is annotated as `int`.

    Args:
        instance: Dataclass instance, as in its `__post_init__`.

    Raises:
        ValueError: If one is not a positive integer, with its name and value.
    """
    for field in dataclasses.fields(instance):
        value = getattr(instance, field.name)
        if field.type is int and not (type(value) is int and value > 0):
            raise ValueError(
                f"`{field.name}` must be a positive integer. "
                f"Received: {field.name}={value!r}."
            )


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
            f"`{name}` must be one of {', '.join(choices)}. Received: {name}={value!r}."
        )
