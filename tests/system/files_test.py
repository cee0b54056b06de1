"""Files and folders: written atomically, claimed, and known by fingerprints."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import pytest

from albert_keras.system import fingerprints
from albert_keras.system.files import (
    atomic_folder,
    atomic_path,
    check_replaceable_folder,
    claimed_folder,
    read_json,
    write_json,
)
from albert_keras.system.fingerprints import (
    BLOCK_BYTES,
    WHOLE_BYTES,
    fingerprint_file,
    fingerprint_files,
    first_change,
)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def write_weights(folder, text):
    (folder / "weights.txt").write_text(text)


def read(target):
    """Returns the texts of a file, or of all files in a folder."""
    paths = [target] if target.is_file() else sorted(target.glob("*"))
    return [path.read_text() for path in paths]


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
@pytest.mark.parametrize(
    ("writer", "write"),
    [(atomic_path, pathlib.Path.write_text), (atomic_folder, write_weights)],
)
def test_a_failure_leaves_the_old_one_and_nothing_else(tmp_path, writer, write, error):
    target = tmp_path / "target"
    with writer(target) as temporary:
        write(temporary, "old")

    def fail_halfway():
        with writer(target) as temporary:
            write(temporary, "half")
            raise error("disk full")

    with pytest.raises(error, match="disk full"):
        fail_halfway()
    assert read(target) == ["old"]
    assert names(tmp_path) == ["target"]


def test_a_byte_order_mark_before_json_is_left_out(tmp_path):
    (tmp_path / "a.json").write_text('{"a": 3}', "utf-8-sig")
    assert read_json(tmp_path / "a.json") == {"a": 3}


def test_values_that_are_not_json_leave_no_file(tmp_path):
    write_json(tmp_path / "one.json", {"é": [1, 2.5]})
    assert json.loads((tmp_path / "one.json").read_text("utf-8")) == {"é": [1, 2.5]}
    with pytest.raises(TypeError, match="not JSON serializable"):
        write_json(tmp_path / "two.json", {"set": {3}})
    assert names(tmp_path) == ["one.json"]


def test_old_folder_is_restored_when_the_new_one_cannot_replace_it(tmp_path):
    target = tmp_path / "model"
    target.mkdir()
    write_weights(target, "old")
    with pytest.raises(FileNotFoundError), atomic_folder(target) as temporary:
        shutil.rmtree(temporary)
    assert (target / "weights.txt").read_text() == "old"
    assert names(tmp_path) == ["model"]


def test_folder_behind_a_link_is_replaced_and_the_link_stays(tmp_path):
    disk, link = tmp_path / "disk", tmp_path / "model"
    disk.mkdir()
    link.symlink_to(disk)
    with atomic_folder(link) as temporary:
        write_weights(temporary, "new")
    assert link.is_symlink()
    assert names(disk) == ["weights.txt"]
    assert names(tmp_path) == ["disk", "model"]


@pytest.mark.parametrize(
    ("writer", "path"),
    [
        *((atomic_path, path) for path in ("", "/", "/dev/null", "pipe", "folder")),
        *((atomic_folder, path) for path in ("/", "/dev/null", "pipe", "file")),
    ],
)
def test_files_and_folders_of_another_kind_are_not_replaced(writer, path, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("kept")
    message = "regular file. Received: '.*', a folder|Not a directory|File exists"
    with pytest.raises((OSError, ValueError), match=message), writer(tmp_path / path):
        pass
    assert (tmp_path / "file").read_text() == "kept"
    assert names(tmp_path) == ["file", "folder", "pipe"]
    assert pathlib.Path("/dev/null").is_char_device()


# Kills itself in the n-th line of `files` that it runs, for each n.
KILLS = """
import json, os, pathlib, signal, sys
from albert_keras.system import files

root, target = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[1], "target")
num_lines = 0

def count(frame, event, _):
    global num_lines
    if frame.f_code.co_filename != files.__file__:
        return
    num_lines += event == "line"
    if num_lines == limit:
        os.kill(os.getpid(), signal.SIGKILL)
    return count

def read():
    paths = [target] if target.is_file() else sorted(target.glob("*"))
    return [path.read_text() for path in paths]

def write(text):
    with getattr(files, sys.argv[2])(target) as temporary:
        paths = [temporary]
        if sys.argv[2] == "atomic_folder":
            paths = [temporary / "1.txt", temporary / "2.txt"]
        for path in paths:
            path.write_text(text)

status, found = -1, []
while status:
    write("old")
    limit = len(found) + 1
    child = os.fork()
    if not child:
        sys.settrace(count)
        write("new")
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    files.remove_leftovers(root)
    found.append([status, read(), os.listdir(root)])
print(json.dumps(found))
"""


@pytest.mark.parametrize("kind", ["path", "folder"])
def test_a_kill_at_any_line_leaves_the_old_or_the_new(kind, tmp_path):
    command = [sys.executable, "-c", KILLS, str(tmp_path), f"atomic_{kind}"]
    root = pathlib.Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, check=True)
    *killed, ended = json.loads(done.stdout)
    old, new = [[text] * (1 if kind == "path" else 2) for text in ("old", "new")]
    # A folder is absent between two renames.
    whole = [old, new] if kind == "path" else [old, [], new]
    assert len(killed) > 10
    assert {status for status, *_ in killed} == {signal.SIGKILL}
    seen = [content for _, content, _ in killed]
    assert seen == sorted(seen, key=whole.index)
    assert all(content in seen for content in whole)
    assert all(left == ["target"][: len(content)] for _, content, left in killed)
    assert ended == [0, new, ["target"]]


def test_work_folders_of_living_processes_stay(tmp_path):
    with atomic_path(tmp_path / "a.txt") as one, atomic_path(tmp_path / "a.txt") as two:
        one.write_text("one")
        two.write_text("two")
    assert (tmp_path / "a.txt").read_text() == "one"
    assert names(tmp_path) == ["a.txt"]


def test_only_folders_of_the_same_kind_are_replaceable(tmp_path):
    target = tmp_path / "model"
    check_replaceable_folder(target, "config.json")
    target.mkdir()
    check_replaceable_folder(target, "config.json")
    write_weights(target, "old")
    with pytest.raises(
        ValueError, match="with config.json .*model', which is a file or"
    ):
        check_replaceable_folder(target, "config.json")
    (target / "config.json").touch()
    check_replaceable_folder(str(target), "config.json")
    with pytest.raises(ValueError, match="Received: path=.*weights.txt', which is a"):
        check_replaceable_folder(target / "weights.txt", "config.json")


@pytest.mark.parametrize("content", [b"{", b"\xff", b"[1]", b"[" * 100_000])
def test_json_must_be_an_object(content, tmp_path):
    (tmp_path / "config.json").write_bytes(content)
    with pytest.raises(ValueError, match="JSON.*Received: '.*config.json'"):
        read_json(tmp_path / "config.json")


HOLD = """
import sys
from albert_keras.system.files import claimed_folder
with claimed_folder(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_folder_lock_excludes_others_and_ends_with_a_killed_process(tmp_path):
    run = tmp_path / "new" / "run"
    command = [sys.executable, "-c", HOLD, str(run)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as other:
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(
            BlockingIOError, match="Received: '.*run', which another process"
        ):
            with claimed_folder(run):
                pass
        other.kill()
        other.wait()
        with claimed_folder(run), claimed_folder(run):
            assert names(run) == [".lock"]
    assert not names(run)
    with claimed_folder(tmp_path / "other" / "run"):
        pass
    assert names(tmp_path) == ["new"]


# === Fingerprints: which changes of files they see ===


def write_large(path, position=None):
    """Writes a sparse file of 256 MiB and a byte, with another byte at a position."""
    with path.open("wb") as file:
        file.truncate(WHOLE_BYTES + 1)
        if position is not None:
            file.seek(position)
            file.write(b"x")
    return path


def test_small_files_count_as_a_whole(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("one two three")
    before = fingerprint_file(path)
    os.utime(path, ns=(0, 7))
    moved = path.rename(tmp_path / "b.txt")
    assert fingerprint_file(moved) == before
    contents = ("one tWo three", "one two three ", "")
    others = set()
    for content in contents:
        moved.write_text(content)
        others.add(fingerprint_file(moved))
    assert len(others - {before}) == 3


@pytest.mark.parametrize(
    "position",
    [*(0, BLOCK_BYTES - 1), 31 * (WHOLE_BYTES + 1 - BLOCK_BYTES) // 63, WHOLE_BYTES],
)
def test_large_files_are_sampled(tmp_path, position):
    before = fingerprint_file(write_large(tmp_path / "before"))
    changed = write_large(tmp_path / "changed", position)
    assert fingerprint_file(changed) != before


def test_large_files_are_not_read_as_a_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(fingerprints, "WHOLE_BYTES", 0)
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(2**40)  # A terabyte, sparse.
    assert len(fingerprint_file(large)) == 32


def test_the_first_change_is_named(tmp_path):
    paths = [tmp_path / name for name in ("a", "b", "c")]
    for path in paths:
        path.write_text(path.name)
    before = fingerprint_files(paths)
    assert [name for name, _ in before] == [str(path) for path in paths]
    assert first_change(before, before) is None
    assert first_change(before, before[:2]) == str(paths[2])
    assert first_change(before[:1], before) == str(paths[1])
    paths[1].write_text("changed")
    assert first_change(before, fingerprint_files(paths)) == str(paths[1])
    moved = [["elsewhere", print] for _, print in before]
    assert first_change(before, moved) is None
