"""Names whose modules are imported when they are asked for."""

import pytest

from albert_keras.lazy import lazy_names


def test_names_come_from_their_homes():
    get_attribute, list_names = lazy_names("shop", {"sqrt": "math", "dumps": "json"})
    assert get_attribute("sqrt")(49) == 7
    assert list_names() == ["sqrt", "dumps"]


def test_other_names_are_attribute_errors():
    get_attribute, _ = lazy_names("shop", {"sqrt": "math"})
    with pytest.raises(AttributeError, match="'shop' has no attribute 'cos'"):
        get_attribute("cos")
