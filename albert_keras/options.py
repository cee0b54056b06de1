"""Declared options: dataclass fields with help, choices and bounds."""

import dataclasses
import json
import types
import typing

from albert_keras.checks import check_choice


def option(
    help, default=dataclasses.MISSING, *, choices=None, minimum=None, above=None
):
    """Returns a dataclass field from which the command line derives its flag.

    Args:
        help: str. What the option sets; where it is not obvious, its unit and source.
        default: The field's default, or `dict` for an empty one; without one it is
            required.
        choices: Iterable of the allowed values, or None.
        minimum: Number, or None. Smallest allowed value.
        above: Number, or None. Values must be greater and finite.
    """
    choices = None if choices is None else tuple(choices)
    metadata = {"help": help, "choices": choices, "minimum": minimum, "above": above}
    kind = "default_factory" if default is dict else "default"
    return dataclasses.field(metadata=metadata, **{kind: default})


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """Base of the configurations of runs.

    Every field is declared by `option`: its help is its documentation, on the command
    line and in Python (`help(config_class)`).
    """

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        bases = [base for base in cls.__mro__[:0:-1] if dataclasses.is_dataclass(base)]
        fields = {f.name: f for base in bases for f in dataclasses.fields(base)}
        own = vars(cls).items()
        fields |= {name: f for name, f in own if isinstance(f, dataclasses.Field)}
        lines = [f"    {name}: {f.metadata['help']}." for name, f in fields.items()]
        cls.__doc__ = "\n".join([cls.__doc__ or "", "    Fields:", *lines])

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is not None:
                check_value(field.name, value, field.metadata)

    def to_dict(self):
        """Returns the fields as JSON holds them: paths as str, tuples as lists."""
        return json.loads(json.dumps(dataclasses.asdict(self), default=str))

    @classmethod
    def from_dict(cls, content, **changes):
        """Builds the configuration from `to_dict`, ignoring fields it does not have.

        Args:
            content: Dict from `to_dict` of this or another version.
            **changes: Fields that replace those of `content`.
        """
        names = {field.name for field in dataclasses.fields(cls)}
        known = {name: value for name, value in content.items() if name in names}
        return cls(**{**known, **changes})


def kind_of(field):
    """Returns the type of an option's values, without `None`."""
    if isinstance(field.type, types.UnionType):
        (kind,) = {*typing.get_args(field.type)} - {types.NoneType}
        return kind
    return field.type


def check_value(name, value, metadata):
    """Checks a value against the choices and bounds of its option.

    Args:
        name: str. The option's name.
        value: The value.
        metadata: The metadata of the option's field.

    Raises:
        ValueError: If it is outside; the message names the rule.
    """
    if metadata["choices"] is not None:
        check_choice(name, value, metadata["choices"])
    for bound, words, is_kept in (
        (metadata["minimum"], "at least", lambda bound: value >= bound),
        (metadata["above"], "greater than", lambda bound: bound < value < float("inf")),
    ):
        if bound is not None and not is_kept(bound):
            raise ValueError(
                f"`{name}` must be {words} {bound}. Received: {name}={value!r}."
            )


def check_unused(options, names, use):
    """Checks that no option is given that would have no effect.

    Args:
        options: `Options`, or another object with attributes of the names.
        names: Names of options, which are None or empty where they are not given.
        use: str. What makes them ineffective, for the message.

    Raises:
        ValueError: If one is given.
    """
    given = [name for name in names if getattr(options, name)]
    if given:
        raise ValueError(
            f"These options have no effect with {use}. "
            f"Received: {', '.join(given)}. Remove them."
        )
