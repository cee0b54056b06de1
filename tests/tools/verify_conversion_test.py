"""Comparison of models with the library that reads their files."""

import json

import pytest

from tools.verify_conversion import main


@pytest.mark.filterwarnings("ignore:Google's files cannot store the dropout")
def test_command(fixtures, tmp_path, capsys):
    pytest.importorskip("transformers")
    original = fixtures / "hf_shared" / "sequence_classification"
    assert main([str(original)]) == 0
    received = json.loads(capsys.readouterr().out)
    assert received["library"] == "transformers"
    assert received["differences"]["logits"] < 1e-5
