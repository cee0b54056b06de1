"""Fixtures for all tests: the shared reference material."""

import pathlib

import pytest

SHARED = pathlib.Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared():
    """Folder of reference checkpoints and real corpora; tests skip where it is absent."""
    if not SHARED.is_dir():
        pytest.skip("needs the reference material in ../shared")
    return SHARED
