"""Files in object stores: written whole, read by ranges, listed."""

import gzip
import sys

import pytest

from albert_keras.system.files import atomic_path, claimed_folder, read_json, write_json
from albert_keras.system.storage import (
    absolute,
    delete_folder,
    find_addresses,
    open_file,
    read_range,
    to_path,
)
from albert_keras.text.text_files import read_lines
from tests.s3_server import serving_s3

pytest.importorskip("upath")


@pytest.fixture(scope="module", params=["memory", "s3"])
def bucket(request):
    """Address of a bucket: in memory, and on a server."""
    if request.param == "memory":
        yield "memory://bucket"
        return
    pytest.importorskip("s3fs")
    with serving_s3("bucket"):
        yield "s3://bucket"


@pytest.fixture
def folder(bucket):
    """Address of an empty folder."""
    yield f"{bucket}/folder"
    delete_folder(to_path(f"{bucket}/folder"))


def write_half(path):
    """Writes a part of a file, and fails."""
    with atomic_path(path) as temporary:
        temporary.write_text("half of it")
        raise InterruptedError


def test_a_file_is_whole_or_absent(folder):
    path = to_path(f"{folder}/deep/result.json")
    with pytest.raises(InterruptedError):
        write_half(path)
    assert not path.exists()
    write_json(path, {"number": 1})
    with pytest.raises(InterruptedError):
        write_half(str(path))
    assert read_json(str(path)) == {"number": 1}
    assert [file.name for file in path.parent.iterdir()] == ["result.json"]


def test_a_claim_writes_nothing(folder):
    with claimed_folder(folder), claimed_folder(to_path(folder)):
        pass
    assert find_addresses(folder) == []


def test_reading(folder, tmp_path):
    content = bytes(range(251)) * 20_011  # Several requests.
    local, address = tmp_path / "bytes", f"{folder}/bytes"
    for path in (local, to_path(address)):
        with atomic_path(path) as temporary:
            temporary.write_bytes(content)
        assert read_range(path, 0, 7) == content[:7]
        assert read_range(path, 3_000_011, 3_000_111) == content[3_000_011:3_000_111]
        assert read_range(path, len(content) - 5, len(content) + 9) == content[-5:]
        assert read_range(path, 9, 9) == b""
        with open_file(path) as stream:
            assert stream.readline() == content[:11]
            stream.seek(2_000_003)
            assert stream.read() == content[2_000_003:]


def test_compressed_lines(folder):
    with atomic_path(f"{folder}/text.txt.gz") as temporary:
        temporary.write_bytes(gzip.compress(b"one\ntwo\n"))
    assert list(read_lines(f"{folder}/text.txt.gz")) == ["one\n", "two\n"]


def test_files_are_found(folder):
    names = ["b.txt", "a.txt", "deep/c.txt", "d.json"]
    for name in names:
        (to_path(folder) / name).write_text(name)
    found = [(f"{folder}/{name}", len(name)) for name in sorted(names)]
    assert find_addresses(folder) == found
    assert find_addresses(f"{folder}/*.txt") == found[:2]
    assert find_addresses(f"{folder}/deep/c.txt") == [(f"{folder}/deep/c.txt", 10)]
    assert find_addresses(f"{folder}/none") == find_addresses(f"{folder}/*.csv") == []
    # What is written after a listing is in the next one.
    (to_path(folder) / "e.txt").write_text("late")
    assert len(find_addresses(folder)) == 5


def test_addresses_and_local_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert absolute("data") == absolute(to_path("data")) == str(tmp_path / "data")
    assert absolute(to_path("memory://bucket/data/")) == "memory://bucket/data"
    with pytest.raises(ValueError, match="s4"):
        to_path("s4://bucket")
    monkeypatch.setitem(sys.modules, "upath", None)
    with pytest.raises(ImportError, match=r'pip install "albert_keras\[cloud\]"'):
        to_path("memory://bucket")
