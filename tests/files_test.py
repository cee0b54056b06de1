"""Atomic files and folders, and folder locks."""

import json
import pathlib
import shutil
import subprocess
import sys

import pytest

from albert_keras.files import (
    atomic_folder,
    atomic_path,
    check_replaceable_folder,
    claimed_folder,
    read_json,
    write_json,
)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def write_weights(folder, text):
    (folder / "weights.txt").write_text(text)


def fail_halfway(writing, write, error):
    with writing as temporary:
        write(temporary, "half")
        raise error("disk full")


def test_file_appears_when_it_is_complete(tmp_path):
    target = tmp_path / "new" / "report.txt"
    with atomic_path(target) as temporary:
        temporary.write_text("half")
        assert not target.exists()
        assert (temporary.parent, temporary.suffix) == (target.parent, ".txt")
        temporary.write_text("whole")
    assert target.read_text() == "whole"
    assert names(target.parent) == ["report.txt"]


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_failed_file_leaves_the_old_one_and_nothing_else(tmp_path, error):
    target = tmp_path / "report.txt"
    target.write_text("old")
    with pytest.raises(error, match="disk full"):
        fail_halfway(atomic_path(target), pathlib.Path.write_text, error)
    assert target.read_text() == "old"
    assert names(tmp_path) == ["report.txt"]


def test_error_before_the_first_byte_is_raised_unchanged(tmp_path):
    with pytest.raises(ValueError, match="no data"), atomic_path(tmp_path / "report"):
        raise ValueError("no data")
    assert names(tmp_path) == []


def test_values_that_are_not_json_leave_no_file(tmp_path):
    write_json(tmp_path / "one.json", {"é": [1, 2.5]})
    assert json.loads((tmp_path / "one.json").read_text("utf-8")) == {"é": [1, 2.5]}
    with pytest.raises(TypeError, match="not JSON serializable"):
        write_json(tmp_path / "two.json", {"set": {3}})
    assert names(tmp_path) == ["one.json"]


def test_folder_replaces_an_older_one(tmp_path):
    target = tmp_path / "deep" / "model"
    target.mkdir(parents=True)
    (target / "stale.txt").write_text("old")
    with atomic_folder(target) as temporary:
        write_weights(temporary, "new")
        assert names(target) == ["stale.txt"]
    assert names(target) == ["weights.txt"]
    assert names(target.parent) == ["model"]


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_failed_folder_leaves_the_old_one_and_nothing_else(tmp_path, error):
    target = tmp_path / "model"
    target.mkdir()
    write_weights(target, "old")
    with pytest.raises(error, match="disk full"):
        fail_halfway(atomic_folder(target), write_weights, error)
    assert (target / "weights.txt").read_text() == "old"
    assert names(tmp_path) == ["model"]


def test_old_folder_is_restored_when_the_new_one_cannot_replace_it(tmp_path):
    target = tmp_path / "model"
    target.mkdir()
    write_weights(target, "old")
    with pytest.raises(FileNotFoundError), atomic_folder(target) as temporary:
        shutil.rmtree(temporary)
    assert (target / "weights.txt").read_text() == "old"
    assert names(tmp_path) == ["model"]


INTERRUPTED_REMOVAL = """
import os, sys
from albert_keras.files import atomic_folder

def interrupt(event, arguments):
    if event == "shutil.rmtree" and os.path.exists(arguments[0]):
        raise KeyboardInterrupt

with atomic_folder(sys.argv[1]) as folder:
    (folder / "weights.txt").write_text("new")
    sys.addaudithook(interrupt)
"""


def test_new_folder_survives_an_interrupted_removal_of_the_old_one(tmp_path):
    target = tmp_path / "model"
    target.mkdir()
    write_weights(target, "old")
    command = [sys.executable, "-c", INTERRUPTED_REMOVAL, str(target)]
    root = pathlib.Path(__file__).parents[1]
    outcome = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert "KeyboardInterrupt" in outcome.stderr
    assert (target / "weights.txt").read_text() == "new"


def test_folder_behind_a_link_is_replaced_and_the_link_stays(tmp_path):
    disk, link = tmp_path / "disk", tmp_path / "model"
    disk.mkdir()
    link.symlink_to(disk)
    with atomic_folder(link) as temporary:
        write_weights(temporary, "new")
    assert link.is_symlink()
    assert names(disk) == ["weights.txt"]
    assert names(tmp_path) == ["disk", "model"]


def test_file_is_not_replaced_by_a_folder(tmp_path):
    (tmp_path / "model").write_text("kept")
    with pytest.raises(NotADirectoryError), atomic_folder(tmp_path / "model"):
        pass
    assert (tmp_path / "model").read_text() == "kept"
    assert names(tmp_path) == ["model"]


def test_only_folders_of_the_same_kind_are_replaceable(tmp_path):
    target = tmp_path / "model"
    check_replaceable_folder(target, "config.json")
    target.mkdir()
    check_replaceable_folder(target, "config.json")
    write_weights(target, "old")
    with pytest.raises(ValueError, match="with config.json .*model', which holds"):
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
from albert_keras.files import claimed_folder
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
