"""Shapes that differ from a preset."""

import pytest

from albert_keras.runs.shapes import ShapeOptions


@pytest.mark.parametrize(
    ("options", "num_heads", "intermediate_dim"),
    [
        ({}, 12, 3072),
        ({"hidden_dim": 192}, 3, 768),
        ({"hidden_dim": 40, "num_heads": 5}, 5, 160),
        ({"hidden_dim": 48, "intermediate_dim": 31, "num_heads": 2}, 2, 31),
    ],
)
def test_width_follows_the_hidden_dim(options, num_heads, intermediate_dim):
    shape = ShapeOptions(model_options=options).shape(vocabulary_size=61)
    assert (shape.num_heads, shape.intermediate_dim) == (num_heads, intermediate_dim)
    assert shape.vocabulary_size == 61


def test_unknown_field():
    with pytest.raises((TypeError, ValueError), match="num_wheels"):
        ShapeOptions(model_options={"num_wheels": 4}).shape()
