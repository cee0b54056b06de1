"""The tool that compares exports of all heads."""

import json

import pytest

from tools import export_matrix


@pytest.mark.slow
def test_a_row_for_each_file(tmp_path, capsys, monkeypatch):
    files = [("saved_model", "text", None), ("tflite", "text", "bfloat16")]
    monkeypatch.setattr(export_matrix, "FILES", files)
    texts = tmp_path / "texts.tsv"
    texts.write_text("sentence\nthe film is warm\nit is not good, and long\n")
    file = tmp_path / "matrix.json"
    words = ["albert_nano_en", "--texts", texts, "--heads", "questions", "--json", file]
    export_matrix.main([*map(str, words)])
    whole, refused = json.loads(file.read_text())
    assert whole["max_difference"] < 1e-4
    assert (whole["changed"], whole["samples"]) == (0, 3)
    assert whole["bytes"] > 5e6
    assert "`quantization` must be one of" in refused["refused"]
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].startswith("| questions | saved_model, text | float32 | ")
    assert lines[3].startswith("| questions | tflite, text | bfloat16 | refused | ")
