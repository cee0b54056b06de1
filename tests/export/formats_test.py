"""Recognition of exported models; each format's own test checks its loading."""

import pytest
import tensorflow as tf

import albert_keras as ak
from albert_keras.export import EXPORTERS, ExportFormat, is_exported


def test_exporters_by_name():
    assert list(EXPORTERS) == ["saved_model", "serving", "tflite", "onnx"]


def test_files_and_saved_models_are_not_runs(tmp_path):
    file, folder = tmp_path / "a.tflite", tmp_path / "run"
    file.write_bytes(b"x")
    folder.mkdir()
    assert is_exported(file)
    assert not is_exported(folder)
    assert not is_exported(tmp_path / "absent")
    (folder / "saved_model.pb").write_bytes(b"x")
    assert is_exported(folder)


@pytest.mark.parametrize(
    "content", [b"", b"\x08\x07\x12\x07pytorch", b"not a model", b"TFL3"]
)
def test_unknown_content_is_one_error(content, tmp_path):
    # The suffix does not count.
    file = tmp_path / "a.tflite"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"SavedModel.*TFLite file.*a.tflite.*neither"):
        ak.load_exported(file)


def test_what_is_no_exported_model_is_one_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="absent.*there is nothing"):
        ak.load_exported(tmp_path / "absent")
    with pytest.raises(ValueError, match="must be an exported model"):
        ak.load_exported(tmp_path)


@pytest.mark.parametrize("name", ["saved_model", "tflite"])
def test_nothing_is_left_of_an_interrupted_export(
    name, large_classifier, full_disk, tmp_path
):
    with full_disk(), pytest.raises((OSError, tf.errors.OpError)):
        EXPORTERS[name].write(large_classifier, tmp_path / "served")
    assert not list(tmp_path.iterdir())


def test_new_format_needs_one_entry(tmp_path, monkeypatch):
    file = tmp_path / "model.onnx"
    format = ExportFormat(
        write=lambda model, path, **options: path.write_text(f"onnx {options}"),
        load=lambda path: path.read_text(),
        recognizes=lambda path: path.is_file() and path.read_text().startswith("onnx"),
        files="an ONNX file",
        options=("opset",),
    )
    monkeypatch.setitem(EXPORTERS, "onnx", format)
    EXPORTERS["onnx"].write(None, file, opset=17)
    assert ak.load_exported(file) == "onnx {'opset': 17}"
