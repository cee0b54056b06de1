"""The tool of kills, hostile files and bad options: a short form."""

import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Commands that take less than half a second.
SHORT = (
    *("kills:train-vocabulary:1", "kills:records:2", "kills:tokens:3"),
    *("files:model:1", "files:vocab:2", "files:corpus:3", "files:documents:4"),
    *("files:unfinished:5", "files:unfinished:plan"),
    *("options:analyze:1", "options:prepare-data:2", "options:train-vocabulary:3"),
)


@pytest.mark.slow
def test_short_form_holds():
    command = [
        sys.executable,
        ROOT / "tools" / "torture.py",
        "--json",
        "--only",
        *SHORT,
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    results = json.loads(done.stdout)
    assert results.pop("failures") == []
    assert {kind: counts["held"] for kind, counts in results.items()} == {
        **{"kills": 3, "files": 6, "options": 3}
    }
    assert done.returncode == 0
