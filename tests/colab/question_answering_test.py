"""Notebook 5: question answering."""

import pytest

from tests import notebooks


@pytest.mark.slow
def test_notebook_runs_offline(tmp_path, monkeypatch):
    printed = notebooks.execute(5, tmp_path, monkeypatch)
    assert "exact match on new stories about one person" in printed
