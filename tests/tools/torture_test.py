"""The tool of kills, hostile files and bad options: a short form, and its failures."""

import json
import pathlib
import subprocess
import sys

import pytest

from tools.torture import main

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


BAD_READERS = """
import json, os, pathlib, sys
from albert_keras import cli
from tools import torture
from tools.torture_cases import trial

def crash():
    os.abort()

def work_for_ever():
    while True:
        pass

def take_memory():
    bytearray(b"x") * 2**29

def leave_a_file():
    pathlib.Path("output").touch()
    return refuse("no")

def raise_an_error():
    raise KeyError("no")

def refuse_at_length():
    return refuse("x" * 500)

def refuse(reason):
    print(f"albert-keras: error: {reason}", file=sys.stderr)
    return 1

def read():
    return 0

trial.SECONDS, trial.PEAK_BYTES = 1, 2**28
trial.warm_up = lambda: None
for reader in (crash, work_for_ever, take_memory, leave_a_file, raise_an_error,
               refuse_at_length, lambda: refuse("no"), read):
    cli.main = reader
    torture.main(["--json", "--only", "files:vocab:1"])
"""


def test_bad_readers_are_reported():
    done = subprocess.run(
        [sys.executable, "-c", BAD_READERS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    *bad, refusing, reading = map(json.loads, done.stdout.splitlines())
    expected = [
        "ended with status -6",
        "of processor time",
        "MB of memory",
        "left output",
        "traceback: KeyError",
        "line of 521 characters",
    ]
    for results, complaint in zip(bad, expected, strict=True):
        assert results["files"] == {"tried": 1, "held": 0, "failed": 1}
        (failure,) = results["failures"]
        assert any(complaint in text for text in failure["failures"])
    assert refusing["failures"] == reading["failures"] == []


def test_a_call_goes_on_after_what_is_logged(tmp_path, capsys):
    log = tmp_path / "log.jsonl"
    results = [
        {
            "case": "files:vocab:1",
            "failures": ["left output"],
            "command": "",
            "seconds": 1,
        },
        {"case": "files:vocab:2", "failures": [], "command": "", "seconds": 1},
    ]
    log.write_text("".join(json.dumps(result) + "\n" for result in results))
    cases = [result["case"] for result in results]
    assert main(["--only", *cases, "--log", str(log)]) == 1
    assert capsys.readouterr().out == "files: 2 tried, 1 held, 1 failed\n"
