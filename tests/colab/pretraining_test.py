"""Notebook 3: pretraining."""

import pytest

from tests import notebooks


@pytest.mark.slow
def test_notebook_runs_offline(tmp_path, monkeypatch):
    printed = notebooks.execute(3, tmp_path, monkeypatch)
    assert "unigrams" in printed
    assert "sentence order:" in printed
