"""Notebook 1: from text to ids."""

import pytest

from tests import notebooks


@pytest.mark.slow
def test_notebook_runs_offline(tmp_path, monkeypatch):
    printed = notebooks.execute(1, tmp_path, monkeypatch)
    assert "lines, equal in Python and TensorFlow:\nTrue" in printed
