"""Files beside the graph of an exported model."""

import json

import pytest

from albert_keras.export import associated_files
from albert_keras.models import AlbertTextClassifier
from albert_keras.preprocessors import AlbertTextClassifierPreprocessor


@pytest.mark.parametrize("activation", ["softmax", "sigmoid"])
def test_labels_are_read_as_written(activation, backbone, tmp_path):
    model = AlbertTextClassifier(backbone, num_classes=3, activation=activation)
    labels = ["x", "", "göod"]
    associated_files.write_associated_files(tmp_path / "extra", model, labels)
    expected = labels, activation == "sigmoid"
    assert associated_files.read_labels(tmp_path / "extra") == expected
    assert associated_files.read_labels(tmp_path) == (None, False)


def test_nothing_is_written_for_nothing(backbone, tmp_path):
    associated_files.write_associated_files(tmp_path / "extra", backbone)
    assert not (tmp_path / "extra").exists()


def test_a_preprocessor_comes_back(backbone, tokenizer, tmp_path):
    preprocessor = AlbertTextClassifierPreprocessor(tokenizer, sequence_length=13)
    assert associated_files.is_of_texts(tmp_path)
    associated_files.write_associated_files(
        tmp_path, backbone, preprocessor=preprocessor
    )
    assert associated_files.is_of_texts(tmp_path)
    file = tmp_path / associated_files.PREPROCESSOR_FILE
    other = {"registered_name": "keras_hub>AlbertMaskedLMPreprocessor"}
    file.write_text(json.dumps(other))
    assert not associated_files.is_of_texts(tmp_path)


def test_size_of_a_folder_and_of_a_file(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c").write_bytes(b"123")
    (tmp_path / "a" / "d").write_bytes(b"4567")
    assert associated_files.measured(tmp_path / "a") == (tmp_path / "a", 7)
    assert associated_files.measured(str(tmp_path / "a" / "d")).num_bytes == 4
