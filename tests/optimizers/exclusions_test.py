"""Patterns are searched in the whole path of a variable."""

import contextlib

import keras
import pytest

from albert_keras.optimizers.exclusions import NO_DECAY_PATTERNS, is_excluded


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("pooler/bias", True),
        ("embedding/layer_norm/gamma", True),
        ("mlm/output_bias", True),
        ("mlm/transform/kernel", False),
        ("embedding/token_embedding/embeddings", False),
    ],
)
def test_paths(path, expected):
    *layers, name = path.split("/")
    with contextlib.ExitStack() as scopes:
        for layer in layers:
            scopes.enter_context(keras.name_scope(layer))
        variable = keras.Variable([1.0], name=name)
    assert variable.path == path
    assert is_excluded(variable, NO_DECAY_PATTERNS) == expected
