"""Declared options: dataclass fields with help, choices and ranges."""

import collections.abc
import copy
import dataclasses
import json
import math
import os
import typing

from albert_keras.checks import check_choice, is_number, shown

MAX_STEPS = 10**9


@dataclasses.dataclass(frozen=True)
class Range:
    """Range of finite numbers. A bound of `None` does not exist.

    Example:

    >>> str(Range(above=0, maximum=1)), 0.5 in Range(above=0, maximum=1)
    ('greater than 0 and at most 1', True)
    """

    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    below: float | None = None

    def __contains__(self, number):
        return (
            -math.inf < number < math.inf
            and (self.minimum is None or number >= self.minimum)
            and (self.above is None or number > self.above)
            and (self.maximum is None or number <= self.maximum)
            and (self.below is None or number < self.below)
        )

    def __str__(self):
        if None not in (self.minimum, self.maximum):
            return f"{self.minimum} to {self.maximum}"
        bounds = {
            "at least": self.minimum,
            "greater than": self.above,
            "at most": self.maximum,
            "less than": self.below,
        }
        rules = [
            f"{rule} {bound}" for rule, bound in bounds.items() if bound is not None
        ]
        return " and ".join(rules)


# Seeds of NumPy and Keras.
SEEDS, STEPS = Range(0, 2**32 - 1), Range(1, MAX_STEPS)
# At most twice the largest batch in the paper on LAMB, which trains BERT.
BATCH_SIZES = Range(1, 2**16)


def option(
    help,
    default=dataclasses.MISSING,
    within=Range(),
    *,
    choices=None,
    words=(),
    members=None,
):
    """Returns a dataclass field from which the command line derives its flag.

    Args:
        help: str. What the option sets, and its unit and source if they are not obvious.
        default: The field's default; without one the option is required.
        within: `Range` of a number. An int or float must always be finite and of its
            type.
        choices: Iterable of the allowed values, or `None`.
        words: Tuple of str that are allowed instead of a number.
        members: Dict of dataclass fields by name, for an option that is a dict, by
            default empty. These are its possible entries, each with its own flag.
    """
    metadata = {
        "help": help,
        "choices": choices and [choice for choice in choices if choice is not None],
        "range": within,
        "words": words,
        "members": members,
    }
    if members is not None:
        return dataclasses.field(metadata=metadata, default_factory=dict)
    return dataclasses.field(metadata=metadata, default=default)


def members_of(config_class, helps):
    """Returns the `members` of an option that changes fields of a dataclass.

    `helps` maps the names of the fields to their help.
    """
    members = {}
    for name, about in helps.items():
        members[name] = field = copy.copy(config_class.__dataclass_fields__[name])
        field.metadata = {**field.metadata, "help": about}
    return members


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """Base class of the configurations of runs.

    `option` declares every field. Its help is the documentation, on the command line and
    in Python (`help(config_class)`).
    """

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        fields = {}
        for base in cls.__mro__[:0:-1]:
            fields |= getattr(base, "__dataclass_fields__", {})
        own = vars(cls).items()
        fields |= {name: f for name, f in own if isinstance(f, dataclasses.Field)}
        lines = [f"    {name}: {f.metadata['help']}." for name, f in fields.items()]
        cls.__doc__ = "\n".join([cls.__doc__ or "", "    Fields:", *lines])

    def __post_init__(self):
        check_fields(self)

    def to_dict(self):
        """Returns the fields in the types of JSON: paths as str, tuples as lists."""
        return json.loads(json.dumps(dataclasses.asdict(self), default=str))

    @classmethod
    def from_dict(cls, content, **changes):
        """Builds a configuration from `to_dict` of any version, and `changes`."""
        names = {field.name for field in dataclasses.fields(cls)}
        known = {name: value for name, value in content.items() if name in names}
        return cls(**{**known, **changes})


def given_of(instance, names):
    """Returns the attributes with some names that are not None, a dict."""
    values = {name: getattr(instance, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def kind_of(field):
    """Returns the type of an option's values; of a union, the first one."""
    kind, *_ = typing.get_args(field.type) or (field.type,)
    return kind


def check_fields(instance):
    """Checks the fields of a dataclass that are declared by `option`.

    Raises:
        ValueError: If a value is not one of the choices, not of its type, not finite, out
            of its range, or an empty str.
    """
    for field in dataclasses.fields(instance):
        value = getattr(instance, field.name)
        if members := field.metadata.get("members"):
            if not isinstance(value, collections.abc.Mapping):
                raise ValueError(
                    f"`{field.name}` must be a dict. "
                    f"Received: {field.name}={shown(value)}."
                )
            for name in members.keys() & value.keys():
                check_value(members[name], value[name])
        elif "range" in field.metadata:
            check_value(field, value)


def check_value(field, value):
    """Checks a value of a field that is declared by `option`; see `check_fields`."""
    kinds = typing.get_args(field.type) or (field.type,)
    is_word = isinstance(value, str) and value in field.metadata["words"]
    if is_word or (value is None and type(None) in kinds):
        return
    name, kind, range = field.name, kinds[0], field.metadata["range"]
    rule = None
    if field.metadata["choices"] is not None:
        check_choice(name, value, field.metadata["choices"])
    elif kind in (int, float):
        # Not `isinstance`, for which True is an int.
        has_type = type(value) is int or (kind is float and is_number(value))
        if not (has_type and value in range):
            rule = "an integer" if kind is int else "a finite number"
            rule += f", {range}" if str(range) else ""
            rule = " or ".join([rule, *map(repr, field.metadata["words"])])
    elif kind is bool and type(value) is not bool:
        rule = "True or False"
    elif kind is str and (value == "" or not isinstance(value, str | os.PathLike)):
        rule = "a str that is not empty"
    if rule:
        raise ValueError(f"`{name}` must be {rule}. Received: {name}={shown(value)}.")


def check_unused(values, names, use):
    """Checks that no option without effect for a `use` is given.

    `values` maps options to their values, which are `None` or empty if not given; `names`
    are the options without effect.

    Raises:
        ValueError: If one is given.
    """
    given = [f"{name}={shown(values[name])}" for name in names if values[name]]
    if given:
        raise ValueError(
            f"These options have no effect with {use}. "
            f"Received: {', '.join(given)}. Remove them."
        )
