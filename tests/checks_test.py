"""Argument checks."""

import dataclasses

import pytest

from albert_keras.checks import (
    check_choice,
    check_json,
    check_positive_integer,
    import_optional,
)


@pytest.mark.parametrize("width", [0, -7, 2.0, "5", True, None])
def test_invalid_integers_are_refused_with_name_and_value(width):
    with pytest.raises(
        ValueError, match=f"positive integer. Received: width={width!r}"
    ):
        check_positive_integer("width", width)


def test_choices_are_listed():
    check_choice("kind", "a", {"a": 1, "b": 2})
    with pytest.raises(ValueError, match="`kind` must be one of a, b. .*kind='c'"):
        check_choice("kind", "c", {"a": 1, "b": 2})


@pytest.mark.parametrize("value", ["x" * 10_000_000, ["a"] * 1000, {"deep": {}}])
def test_received_values_of_any_size_and_type_give_short_errors(value):
    with pytest.raises(ValueError, match="Received: kind=") as caught:
        check_choice("kind", value, {"a": 1})
    assert len(str(caught.value)) < 300


TEMPLATE = {"name": str, "rows": [int], "parts": {str: {"size": int}}, "rest": dict}
CONTENT = {
    "name": "a",
    "rows": [0, 5],
    "parts": {"x": {"size": 3, "y": 0.5}},
    "rest": {},
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": 5}, "`name` must be a string.*Received: 5 in 'a.json'"),
        ({"rows": {}}, "`rows` must be a list"),
        ({"rows": [3, True]}, "`rows` must be an integer, 0 or more.*Received: True"),
        ({"rows": [3, -1]}, "Received: -1"),
        ({"parts": {"x": {}}}, "`size` must be an integer"),
        ({"parts": {"x": []}}, "`x` must be an object"),
        ({"rest": "a" * 10**6}, "`rest` must be an object"),
    ],
)
def test_json_of_another_form_is_refused(change, message):
    check_json(CONTENT, TEMPLATE, "a.json")
    with pytest.raises(ValueError, match=message) as caught:
        check_json({**CONTENT, **change}, TEMPLATE, "a.json")
    assert len(str(caught.value)) < 300


def test_error_of_an_absent_module_tells_how_to_install_it():
    assert import_optional("dataclasses", "plots") is dataclasses
    message = r'`absent_module`.*pip install "albert_keras\[plots\]"'
    with pytest.raises(ImportError, match=message):
        import_optional("absent_module", "plots")
