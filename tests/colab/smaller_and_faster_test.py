"""Notebook 6: exits, a student, exports and a server."""

import pytest

from tests import notebooks


@pytest.mark.slow
def test_notebook_runs_offline(tmp_path, monkeypatch):
    printed = notebooks.execute(6, tmp_path, monkeypatch)
    assert "accuracy of the student:" in printed
    assert "docker-compose.yml" in printed
