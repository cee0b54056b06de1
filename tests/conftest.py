"""Fixtures for all tests: reference checkpoints, vocabularies and corpora."""

import gc
import os
import pathlib
import signal

import pytest

from albert_keras.cli import ENVIRONMENT

FIXTURES = pathlib.Path(__file__).resolve().parent / "fixtures"
SHARED = pathlib.Path(__file__).resolve().parents[2] / "shared"

# Before TensorFlow is imported: tests compute as the commands do.
for name, value in ENVIRONMENT.items():
    os.environ.setdefault(name, value)

# Tracing makes many objects, nearly all of which stay: looking through the ones of all
# libraries again and again, as the default does, takes a tenth of the tests' time.
gc.set_threshold(200_000, 50, 100)

# A shell starts what stands in the background with Ctrl-C ignored, and so do its
# children, some of which the tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def fixtures():
    """Folder of small reference checkpoints and their outputs; see its README.md."""
    return FIXTURES


@pytest.fixture(scope="session")
def shared():
    """Folder of real vocabularies and corpora; tests skip where it is absent."""
    if not SHARED.is_dir():
        pytest.skip("needs the real vocabularies and corpora in ../shared")
    return SHARED


def pytest_collection_modifyitems(items):
    """Puts files with slow tests first: of two processes none is left alone with one."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)
