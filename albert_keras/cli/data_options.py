"""Options that say how pretraining examples are made."""

import dataclasses

from albert_keras.cli.options import flag_of
from albert_keras.pretraining import CHOICES, PretrainingDataConfig

_DEFAULTS = {
    field.name: field.default
    for field in dataclasses.fields(PretrainingDataConfig)
    if field.name != "seed"
}

DATA_OPTIONS = tuple(_DEFAULTS)


def add_data_options(parser):
    """Adds a flag for each field of `PretrainingDataConfig` but the seed."""
    group = parser.add_argument_group("examples (see `PretrainingDataConfig`)")
    for name, default in _DEFAULTS.items():
        flag, about = flag_of(name), f"default: {default}"
        if name in CHOICES:
            choices = [choice for choice in CHOICES[name] if choice is not None]
            group.add_argument(flag, choices=choices, help=about)
        elif default is True:
            group.add_argument(flag, dest=name, action="store_false", default=None)
        elif default is False:
            group.add_argument(flag, action="store_true", default=None)
        else:
            kind = int if default is None else type(default)
            group.add_argument(flag, type=kind, help=about)
