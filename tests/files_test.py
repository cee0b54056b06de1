"""Files and folders that are whole or absent."""

import pathlib

import pytest

from albert_keras.files import atomic_folder, atomic_path


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


def test_failure_before_the_first_byte_is_the_one_that_is_seen(tmp_path):
    with pytest.raises(ValueError, match="no data"), atomic_path(tmp_path / "report"):
        raise ValueError("no data")
    assert names(tmp_path) == []


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
