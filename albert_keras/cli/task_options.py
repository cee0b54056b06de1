"""Options of `finetune` derived from the fields of tasks."""

import dataclasses
import re
import typing

from albert_keras.cli.options import flag_of, positive_int
from albert_keras.tasks import TASKS

# Fields of tasks that are options, by name; see `albert_keras.options.option`.
TASK_OPTIONS = {
    field.name: field
    for task in TASKS.values()
    for field in dataclasses.fields(task)
    if "help" in field.metadata
}

_NUMBER = re.compile(r"\d+(\.\d*)?|\.\d+")


def add_task_options(parser):
    """Adds `TASK_OPTIONS`, which default to the task's own values."""
    group = parser.add_argument_group("options of some tasks")
    for name, field in TASK_OPTIONS.items():
        kind, *_ = typing.get_args(field.type) or (field.type,)
        options = {"type": positive_int if kind is int else kind}
        if kind is dict:
            options = {"nargs": "+", "metavar": "LABEL=WEIGHT"}
        choices, about = field.metadata["choices"], field.metadata["help"]
        group.add_argument(flag_of(name), choices=choices, help=about, **options)


def parse_class_weights(words):
    """Returns `balanced`, or a dict from a label to its weight, or None.

    Raises:
        ValueError: If the words are neither `balanced` nor LABEL=WEIGHT.
    """
    if words is None or words == ["balanced"]:
        return words and "balanced"
    weights = {}
    for word in words:
        label, _, weight = word.rpartition("=")
        if not label or not _NUMBER.fullmatch(weight):
            raise ValueError(
                "Class weights must be `balanced` or LABEL=WEIGHT, with weights that are "
                f"not negative. Received: {' '.join(words)}."
            )
        weights[label] = float(weight)
    return weights
