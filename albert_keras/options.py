"""Declared options: dataclass fields with help, choices and bounds."""

import copy
import dataclasses
import json
import math
import typing

from albert_keras.checks import check_choice


def option(
    help,
    default=dataclasses.MISSING,
    *,
    choices=None,
    minimum=None,
    maximum=None,
    above=None,
    members=None,
):
    """Returns a dataclass field from which the command line derives its flag.

    Args:
        help: str. What the option sets; where it is not obvious, its unit and source.
        default: The field's default; without one the option is required.
        choices: Iterable of the allowed values, or None.
        minimum, maximum: Number, or None. Smallest and largest allowed value.
        above: Number, or None. Values must be greater and finite.
        members: Dict of dataclass fields by name, for an option that is a dict, by
            default empty: the entries that it may have, each with a flag of its own.
    """
    metadata = {
        "help": help,
        "choices": choices and [choice for choice in choices if choice is not None],
        "minimum": minimum,
        "maximum": maximum,
        "above": above,
        "members": members,
    }
    if members is not None:
        return dataclasses.field(metadata=metadata, default_factory=dict)
    return dataclasses.field(metadata=metadata, default=default)


def members_of(config_class, helps, choices=None):
    """Returns the `members` of an option that changes fields of a dataclass.

    `helps` maps the names of the fields to their help, and `choices` names of fields that
    are not declared by `option` to their allowed values.
    """
    members = {}
    for name, about in helps.items():
        field = copy.copy(config_class.__dataclass_fields__[name])
        declared = field.metadata or option("", choices=choices.get(name)).metadata
        field.metadata = {**declared, "help": about}
        members[name] = field
    return members


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """Base of the configurations of runs.

    Every field is declared by `option`: its help is its documentation, on the command
    line and in Python (`help(config_class)`).
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
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is not None or type(None) not in typing.get_args(field.type):
                check_value(field.name, value, field.metadata)

    def to_dict(self):
        """Returns the fields as JSON holds them: paths as str, tuples as lists."""
        return json.loads(json.dumps(dataclasses.asdict(self), default=str))

    @classmethod
    def from_dict(cls, content, **changes):
        """Builds the configuration from `to_dict` of any version and `changes`."""
        names = {field.name for field in dataclasses.fields(cls)}
        known = {name: value for name, value in content.items() if name in names}
        return cls(**{**known, **changes})


def kind_of(field):
    """Returns the type of an option's values; of a union, the first one."""
    kind, *_ = typing.get_args(field.type) or (field.type,)
    return kind


def check_value(name, value, metadata):
    """Checks a value against the choices and bounds in an option's metadata.

    Raises:
        ValueError: If it is outside; the message names the rule.
    """
    if metadata["choices"] is not None:
        check_choice(name, value, metadata["choices"])
    minimum, maximum = metadata["minimum"], metadata["maximum"]
    above, rule = metadata["above"], None
    if minimum is not None and not value >= minimum:
        rule = f"at least {minimum}"
    if maximum is not None and not value <= maximum:
        rule = f"at most {maximum}"
    if above is not None and not above < value < math.inf:
        rule = f"greater than {above}"
    if rule:
        raise ValueError(f"`{name}` must be {rule}. Received: {name}={value!r}.")


def check_unused(values, names, use):
    """Checks that no option is given that would have no effect with a `use`.

    `values` maps options to their values, which are None or empty if not given; `names`
    are those without effect.

    Raises:
        ValueError: If one is given.
    """
    given = [name for name in names if values[name]]
    if given:
        raise ValueError(
            f"These options have no effect with {use}. "
            f"Received: {', '.join(given)}. Remove them."
        )
