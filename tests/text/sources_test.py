"""Finding files and cutting them into pieces."""

import math
import os

import pytest

from albert_keras.text.formats import Piece
from albert_keras.text.sources import File, cut_file, find_files


def write(path, content=b"text"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.fixture
def folder(tmp_path):
    for name in ("b.txt", "a/x.jsonl", "c.jsonl.gz", "a/y.parquet", "a/x.txt.gz"):
        write(tmp_path / name)
    for name in ("README", "a/.txt.swp", "tokens.txt~", "z.gz"):
        write(tmp_path / name)
    (tmp_path / "folder.txt").mkdir()
    return tmp_path


def names(files, folder):
    return [os.path.relpath(file.path, folder) for file in files]


def test_folder(folder):
    files = find_files(folder)
    formats = [file.format for file in files]
    assert dict(zip(names(files, folder), formats, strict=True)) == {
        "a/x.jsonl": "jsonl",
        "a/x.txt.gz": "text",
        "a/y.parquet": "parquet",
        "b.txt": "text",
        "c.jsonl.gz": "jsonl",
    }
    assert names(files, folder) == sorted(names(files, folder))


def test_glob_file_and_format(folder):
    found = find_files(f"{folder}/**/*.jsonl*")
    assert names(found, folder) == ["a/x.jsonl", "c.jsonl.gz"]
    (readme,) = find_files(folder / "README", "jsonl")
    status = os.stat(folder / "README")
    assert readme == File(str(folder / "README"), "jsonl", 4, status.st_mtime_ns)


def test_missing_files_and_unknown_suffixes(tmp_path):
    with pytest.raises(FileNotFoundError, match="glob pattern. .*'.*nowhere.txt'"):
        find_files(tmp_path / "nowhere.txt")
    message = "folder with .txt, .txt.gz, .jsonl, .jsonl.gz, .parquet files. Received: "
    for source in (str(tmp_path), ""):
        with pytest.raises(FileNotFoundError, match=f"{message}'{source}'"):
            find_files(source)
    message = r"one of .txt, .*, .parquet\. Received: '.*a.tokens'. Pass `format`, one"
    with pytest.raises(ValueError, match=message):
        find_files(write(tmp_path / "a.tokens"))


@pytest.mark.parametrize("format", ["text", "jsonl", "parquet"])
def test_ranges_of_bytes(format):
    pieces = list(cut_file(File("a", format, 23, 0), 10))
    ranges = [(0, 10), (10, 20), (20, 23)]
    assert pieces == [(Piece(format, "a", a, b), b - a) for a, b in ranges]
    assert len(list(cut_file(File("a", format, 20, 0), 10))) == 2
    assert list(cut_file(File("a", format, 0, 0), 10)) == [
        (Piece(format, "a", 0, 0), 0)
    ]


def test_compressed_file_is_one_piece():
    pieces = list(cut_file(File("a.txt.gz", "text", 23, 0), 10))
    assert pieces == [(Piece("text", "a.txt.gz", 0, math.inf), 23)]


def test_ranges_of_records_by_mean_size():
    # Records of 7 bytes: 80 bytes have 11 of them.
    file = File("a", "tfds", 210, 0, [3, 29, 30])
    expected = [(3, 14, 77), (14, 25, 77), (25, 29, 28)]
    pieces = [(p.start, p.stop, num_bytes) for p, num_bytes in cut_file(file, 10)]
    assert pieces == expected
    (piece,) = cut_file(File("a", "tfds", 0, 0, [0, 0, 0]), 10)
    assert piece == (Piece("tfds", "a", 0, 0), 0)
