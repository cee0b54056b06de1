"""The shared checks, and that only what they name is checked."""

import dataclasses

import pytest

from albert_keras.checks import check_choice, check_positive_integers


@dataclasses.dataclass
class Sizes:
    width: int
    rate: float = 0.0
    depth: int | None = None


def test_only_integer_fields_must_be_positive():
    check_positive_integers(Sizes(3, rate=-1.0, depth=-2))


@pytest.mark.parametrize("width", [0, -7, 2.0, "5", True, None])
def test_other_values_are_named(width):
    with pytest.raises(
        ValueError, match=f"positive integer. Received: width={width!r}"
    ):
        check_positive_integers(Sizes(width))


def test_choices_are_listed():
    check_choice("kind", "a", {"a": 1, "b": 2})
    with pytest.raises(ValueError, match="`kind` must be one of a, b. .*kind='c'"):
        check_choice("kind", "c", {"a": 1, "b": 2})
