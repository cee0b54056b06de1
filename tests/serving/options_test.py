"""Ranges of the server's options."""

import pytest

from albert_keras.serving import ServerOptions


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("port", 65536, "`port` must be an integer, 0 to 65535. Received: port=65536"),
        ("timeout", 0, "`timeout` must be a finite number, greater than 0"),
        ("max_request_rows", 2.5, "`max_request_rows` must be an integer"),
    ],
)
def test_values_out_of_range_are_refused(name, value, message):
    with pytest.raises(ValueError, match=message):
        ServerOptions(**{name: value})
