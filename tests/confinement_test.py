"""A process that cannot write files."""

import pathlib
import subprocess
import sys

import pytest

ATTEMPTS = {
    "write": "open(path, 'w')",
    "append": "open(path, 'a')",
    "shorten": "os.truncate(path, 1)",
    "create": "open(path + '2', 'x')",
    "remove": "os.remove(path)",
    "rename": "os.rename(path, path + '2')",
    "link": "os.symlink(path, path + '2')",
    "folder": "os.mkdir(path + '2')",
    "thread": "threads.submit(open, path, 'w').result()",
    "child": "subprocess.run(['cp', '/etc/hostname', path], check=True)",
}
CONFINED = """
import concurrent.futures, json, os, subprocess, sys
from albert_keras.confinement import deny_writes

path, *attempts = sys.argv[1:]
opened = open(path + ".open", "w")
with concurrent.futures.ThreadPoolExecutor(1) as earlier:
    earlier.submit(int)
    assert not deny_writes()
if not deny_writes():
    sys.exit(3)
threads = concurrent.futures.ThreadPoolExecutor(1)
for attempt in attempts:
    try:
        exec(attempt)
    except (PermissionError, subprocess.CalledProcessError):
        pass
    else:
        sys.exit(attempt)
opened.write(open(path).read())
"""


def test_nothing_is_written_but_what_was_open(tmp_path):
    path = tmp_path / "kept"
    path.write_text("content")
    command = [sys.executable, "-c", CONFINED, str(path), *ATTEMPTS.values()]
    root = pathlib.Path(__file__).parents[1]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    if done.returncode == 3:
        pytest.skip("This kernel has no Landlock.")
    assert done.returncode == 0, done.stderr
    assert path.read_text() == "content"
    assert (tmp_path / "kept.open").read_text() == "content"
    assert len([*tmp_path.iterdir()]) == 2
