"""Options by the names of their arguments, and those that would be ignored."""


def flag_of(name):
    """Returns the option of a field: what departs from the default."""
    name = {"favor_shorter": "favor_longer"}.get(name, name)
    return f"--{name.replace('_', '-')}"


def check_unused(arguments, names, use):
    """Checks that none is given of the options which a use would ignore.

    Args:
        arguments: Namespace.
        names: Names of arguments, which are `None` or empty where not given.
        use: str. What the command is used with, for the message.

    Raises:
        ValueError: If one is.
    """
    given = [name for name in names if getattr(arguments, name)]
    if given:
        raise ValueError(
            f"An option must matter for {use}. "
            f"Received: {', '.join(map(flag_of, given))}. Leave it out."
        )
