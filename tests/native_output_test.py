"""C++ output is kept back, and shown after a crash."""

import subprocess
import sys

import pytest

SCRIPT = """
import os, pathlib, signal, subprocess, sys, time
from albert_keras import native_output
with native_output.kept_back({for_good}):
    os.write(2, b"native\\n")
    subprocess.run([sys.executable, "-c", "import os; os.write(2, b'child\\\\n')"])
    print("ours", file=sys.stderr)
    {end}
os.write(2, b"after\\n")
"""
CHILD = "int(pathlib.Path('/proc/self/task', str(os.getpid()), 'children').read_text())"


def script(end, for_good=False):
    return SCRIPT.replace("{end}", end).replace("{for_good}", str(for_good))


@pytest.mark.parametrize(
    ("end", "status", "lines"),
    [
        ("pass", 0, ["ours", "after"]),
        ("sys.exit(3)", 3, ["ours"]),
        # The only child is the process that waits for a crash.
        (f"os.kill({CHILD}, signal.SIGKILL); time.sleep(0.2)", 0, ["ours", "after"]),
        ("os.abort()", -6, ["ours", "native", "child"]),
        ("os.kill(os.getpid(), signal.SIGKILL)", -9, ["ours", "native", "child"]),
    ],
)
def test_lines_of_others_arrive_only_after_a_crash(end, status, lines):
    done = subprocess.run(
        [sys.executable, "-c", script(end)],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr.splitlines()) == (status, lines)


def test_an_unexpected_exception_comes_after_the_lines(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", script("1 / 0", for_good=True)],
        capture_output=True,
        text=True,
    )
    lines = done.stderr.splitlines()
    assert lines[:3] == ["ours", "native", "child"]
    assert lines[3].startswith("Traceback")
    assert lines[-1].startswith("ZeroDivisionError")


def test_lines_of_the_end_of_the_process_are_kept_back():
    later = "\nprint('later', file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", script("pass", for_good=True) + later],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "ours\nlater\n")
