"""The tool of hostile files and bad options: a short form."""

import pathlib
import subprocess
import sys

import pytest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "torture.py"

# Commands that take less than half a second, and one that needs a trained model.
SHORT = (
    "embedders:one_row:1",
    *("files:model:1", "files:vocab:2", "files:corpus:3", "files:documents:4"),
    *("options:analyze:1", "options:prepare-data:2", "options:train-vocabulary:3"),
)


@pytest.mark.slow
def test_short_form_holds():
    command = [sys.executable, TOOL, "--only", *SHORT]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "embedders: 1 tried, 1 held, 0 failed",
        "files: 4 tried, 4 held, 0 failed",
        "options: 3 tried, 3 held, 0 failed",
    ], done.stderr
    assert done.returncode == 0
