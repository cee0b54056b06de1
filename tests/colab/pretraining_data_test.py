"""Notebook 2: pretraining data."""

import pytest

from tests import notebooks


@pytest.mark.slow
def test_notebook_runs_offline(tmp_path, monkeypatch):
    printed = notebooks.execute(2, tmp_path, monkeypatch)
    assert "481 documents" in printed
    assert "of all tokens are predicted" in printed
