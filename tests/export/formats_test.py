"""Exported models told from other paths; loading is held by the formats' own tests."""

import pytest

from albert_keras.export import is_exported, load_predictor


def test_files_and_saved_models_are_told_from_runs(tmp_path):
    file, folder = tmp_path / "a.tflite", tmp_path / "run"
    file.write_bytes(b"x")
    folder.mkdir()
    assert is_exported(file)
    assert not is_exported(folder)
    assert not is_exported(tmp_path / "absent")
    (folder / "saved_model.pb").write_bytes(b"x")
    assert is_exported(folder)


def test_what_is_neither_is_an_error(tmp_path):
    file = tmp_path / "a.tflite"
    file.write_bytes(b"not a model")
    with pytest.raises(ValueError, match="a.tflite"):
        load_predictor(file)
