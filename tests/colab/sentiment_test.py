"""Notebook 4: sentiment."""

import pytest

from tests import notebooks


@pytest.mark.slow
def test_notebook_runs_offline(tmp_path, monkeypatch):
    printed = notebooks.execute(4, tmp_path, monkeypatch)
    assert "accuracy on the test reviews:" in printed
