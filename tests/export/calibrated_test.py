"""Calibration on a file: its errors. tests/runs/calibration_test.py does one."""

import pytest

from albert_keras.export import export_calibrated_tflite


def test_a_classifier_without_exits_is_refused(classifier, tmp_path):
    with pytest.raises(ValueError, match="with exits. .* AlbertTextClassifier"):
        export_calibrated_tflite(classifier, tmp_path / "x.tflite", ["a text"])
    assert not list(tmp_path.iterdir())
