"""Declared options: checks, records of run.json, documentation."""

import dataclasses
import pathlib
from collections.abc import Mapping

import pytest

from albert_keras.options import Options, Range, check_unused, option


@dataclasses.dataclass(frozen=True, kw_only=True)
class Small(Options):
    """A configuration."""

    size: int = option("how large", within=Range(1))
    rate: float | None = option("how fast", None, Range(above=0))
    color: str = option("which color", "red", choices=("red", "blue"))
    files: tuple = option("which files", ())
    extras: Mapping = option("what else", members={})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"size": 0}, "must be an integer, at least 1. Received: size=0.$"),
        ({"size": 3, "rate": 0.0}, "finite number, greater than 0. Received: rate=0.0"),
        ({"size": 3, "rate": float("nan")}, "rate=nan"),
        ({"size": 3, "rate": float("inf")}, "rate=inf"),
        ({"size": 3, "color": "green"}, "one of red, blue. Received: color='green'"),
    ],
)
def test_values_outside_their_bounds_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        Small(**values)


def test_dict_and_back_ignores_unknown_fields():
    small = Small(size=3, files=(pathlib.Path("a"), "b"), extras={"x": (5, 7)})
    content = small.to_dict()
    assert content["files"] == ["a", "b"]
    assert content["extras"] == {"x": [5, 7]}
    again = Small.from_dict({**content, "newer": 1}, size=5)
    assert (again.size, again.files, again.color) == (5, ["a", "b"], "red")


def test_fields_are_documented():
    assert Small.__doc__.startswith("A configuration.")
    assert "    rate: how fast." in Small.__doc__


def test_options_without_effect_are_refused():
    small = Small(size=3, rate=0.5)
    check_unused(vars(small), ["files"], "nothing")
    with pytest.raises(ValueError, match="with snow. Received: rate=.*. Remove"):
        check_unused(vars(small), ["files", "rate"], "snow")
