"""Classes in the files of presets: of this package, of users, and of keras-hub."""

import json

import pytest

from albert_keras.presets.preset_files import is_own, registered_name


@pytest.mark.parametrize(
    ("content", "name", "own"),
    [
        ({"registered_name": "albert_keras>A"}, "albert_keras>A", True),
        ({"registered_name": "mine>A"}, "mine>A", True),
        ({"registered_name": "keras_hub>A"}, "keras_hub>A", False),
        ({"registered_name": "keras_nlp>A"}, "keras_nlp>A", False),
        ({"registered_name": None}, None, False),
        ({"registered_name": 7}, None, False),
        ({"model_type": "albert"}, None, False),
        (None, None, False),
    ],
)
def test_class_of_a_file(content, name, own, tmp_path):
    if content is not None:
        (tmp_path / "task.json").write_text(json.dumps(content))
    assert registered_name(tmp_path / "task.json") == name
    assert is_own(tmp_path / "task.json") == own
