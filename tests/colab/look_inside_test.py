"""Notebook 7: analyses, on JAX."""

import pytest

from tests import notebooks


@pytest.mark.slow
def test_notebook_runs_offline(tmp_path, monkeypatch):
    printed = notebooks.execute(7, tmp_path, monkeypatch, forks=False)
    assert "on jax" in printed
