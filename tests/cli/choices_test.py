"""The names that options accept are those of the registries."""

import pytest

from albert_keras import converters, export, models
from albert_keras.cli import choices


@pytest.mark.parametrize(
    ("names", "registry"),
    [
        (choices.HEADS, models.HEADS),
        (choices.SOURCES, converters.SOURCES),
        (choices.CHECKPOINT_FORMATS, converters.CHECKPOINT_FORMATS),
        (choices.EXPORT_FORMATS, export.EXPORTERS),
    ],
)
def test_names_are_those_of_the_registry(names, registry):
    assert names == tuple(registry)
