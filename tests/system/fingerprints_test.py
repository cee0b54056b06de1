"""Fingerprints: which changes of files they see."""

import os

import pytest

from albert_keras.system import fingerprints
from albert_keras.system.fingerprints import (
    BLOCK_BYTES,
    WHOLE_BYTES,
    fingerprint_file,
    fingerprint_files,
    first_change,
)


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
    [
        *(0, BLOCK_BYTES - 1),
        31 * (WHOLE_BYTES + 1 - BLOCK_BYTES) // 63,
        WHOLE_BYTES,
    ],
)
def test_large_files_are_sampled(tmp_path, position):
    before = fingerprint_file(write_large(tmp_path / "before"))
    changed = write_large(tmp_path / "changed", position)
    assert fingerprint_file(changed) != before


def test_the_size_of_large_files_counts(tmp_path):
    before = fingerprint_file(write_large(tmp_path / "large"))
    with (tmp_path / "large").open("ab") as file:
        file.truncate(WHOLE_BYTES + 2)
    assert fingerprint_file(tmp_path / "large") != before


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
