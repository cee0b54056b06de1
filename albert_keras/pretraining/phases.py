"""Phases of a pretraining run: rows, batch size and depth that change during the run."""

import dataclasses
from collections.abc import Mapping

from albert_keras import options
from albert_keras.options import option
from albert_keras.pretraining.examples import PretrainingDataConfig

# Fields of a token store; they cannot differ between phases.
_FIXED = ("word_segmenter", "num_shards", "dupe_factor", "seed", "sentence_pairs")


@dataclasses.dataclass(frozen=True)
class Phase:
    """Part of a run with its own examples, batch size and depth.

    Args:
        num_steps: int > 0. Number of optimizer steps.
        batch_size: int > 0. Number of examples in a step.
        num_layers: int > 0, or `None` for all. Applications of the shared layer.
        data_options: dict. Fields of `PretrainingDataConfig` that differ from the run's.

    Example:

    >>> phase = Phase.parse("num_steps=300,batch_size=64,num_layers=1,masking=token")
    >>> phase.num_layers, phase.data_options
    (1, {'masking': 'token'})
    >>> str(phase.resized(2.0, 0.5))
    'num_steps=600,batch_size=32,num_layers=1,masking=token'
    """

    num_steps: int = option("optimizer steps of the phase", within=options.STEPS)
    batch_size: int = option("examples per step", within=options.BATCH_SIZES)
    num_layers: int | None = option(
        "applications of the shared layer (default: all)", None, options.Range(1)
    )
    data_options: Mapping = dataclasses.field(default_factory=dict)

    @classmethod
    def parse(cls, text):
        """Returns the phase for `NAME=VALUE,NAME=VALUE`, as `str` writes it.

        Raises:
            ValueError: If a name is unknown, or a value is not valid for it.
        """
        given = dict(part.partition("=")[::2] for part in text.split(","))
        if not {"num_steps", "batch_size"} <= given.keys() <= _FIELDS.keys():
            raise ValueError(
                "A phase consists of NAME=VALUE, with num_steps, batch_size, and others "
                f"of {', '.join(_FIELDS)}. Received: '{text}'."
            )
        values = {name: _read(_FIELDS[name], value) for name, value in given.items()}
        own = {name: values.pop(name) for name in _OWN if name in values}
        return cls(**own, data_options=values)

    def __str__(self):
        values = {**options.given_of(self, _OWN), **self.data_options}
        return ",".join(f"{k}={v}" for k, v in values.items() if v is not None)

    def resized(self, step_ratio, batch_ratio):
        """Returns the phase with the steps and the batch size multiplied by ratios."""
        return dataclasses.replace(
            self,
            num_steps=max(1, round(self.num_steps * step_ratio)),
            batch_size=max(1, round(self.batch_size * batch_ratio)),
        )


def _read(field, text):
    kind = options.kind_of(field)
    try:
        value = {"True": True, "False": False}[text] if kind is bool else kind(text)
    except (KeyError, ValueError):
        value = text
    options.check_value(field, value)
    return value


_OWN = ("num_steps", "batch_size", "num_layers")
_FIELDS = {
    field.name: field
    for kind in (Phase, PretrainingDataConfig)
    for field in dataclasses.fields(kind)
    if field.name not in ("data_options", *_FIXED)
}
