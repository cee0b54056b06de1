"""Where text stands: files, folders, globs and TFDS data sets, and pieces of these."""

import glob
import math
import os
import pathlib
from typing import NamedTuple

from albert_keras.text.formats import Piece
from albert_keras.text.tfds import PREFIX, find_shards

FORMATS = ("text", "jsonl", "parquet")
SUFFIXES = {
    ".txt": "text",
    ".txt.gz": "text",
    ".jsonl": "jsonl",
    ".jsonl.gz": "jsonl",
    ".parquet": "parquet",
}

# To read a record of a TFRecord file is to read those before it: so fewer, longer pieces.
_TFDS_RANGES = 8


class File(NamedTuple):
    """A file of a corpus and what tells whether it is still the same.

    Attributes:
        path: str, as it was given or found.
        format: str, a key of `formats.READERS`.
        size: int. Bytes on disk.
        mtime_ns: int. When it was last changed, as the file system says.
        records: list `[start, stop, num_records]` for TFDS: those wanted, and all.
    """

    path: str
    format: str
    size: int
    mtime_ns: int
    records: list | None = None


def find_files(source, format=None, text_column="text"):
    """Finds the files of a source.

    Args:
        source: str or path: a file, a glob pattern, a folder, of which all files with a
            suffix of `SUFFIXES` are taken, in sorted order, or `"tfds:NAME:SPLIT"`.
        format: str of `FORMATS`. By default the files' suffixes decide.
        text_column: str. The feature of TFDS with the text.

    Returns:
        List of `File`.

    Raises:
        FileNotFoundError: If the source holds no file.
        ValueError: If the format cannot be told.
    """
    if isinstance(source, str) and source.startswith(PREFIX):
        return [
            _describe(path, "tfds", [start, stop, num_records])
            for path, start, stop, num_records in find_shards(source, text_column)
        ]
    return [_describe(path, format or _format_of(path)) for path in _find_paths(source)]


def _describe(path, format, records=None):
    status = os.stat(path)
    return File(str(path), format, status.st_size, status.st_mtime_ns, records)


def _find_paths(source):
    path = pathlib.Path(source)
    if path.is_file():
        return [path]
    if path.is_dir():
        found = (p for p in path.rglob("*") if p.name.endswith(tuple(SUFFIXES)))
        expected = f"a folder with {', '.join(SUFFIXES)} files"
    else:
        found = map(pathlib.Path, glob.glob(str(source), recursive=True))
        expected = "an existing file, folder or glob pattern"
    paths = sorted(path for path in found if path.is_file())
    if not paths:
        raise FileNotFoundError(f"Sources must name {expected}. Received: '{source}'.")
    return paths


def _format_of(path):
    for suffix, format in SUFFIXES.items():
        if path.name.endswith(suffix):
            return format
    raise ValueError(
        f"The suffix must be one of {', '.join(SUFFIXES)} to tell the format. "
        f"Received: '{path}'. Pass `format`, one of {', '.join(FORMATS)}."
    )


def cut_file(file, range_bytes):
    """Cuts a file into pieces that can be read without each other.

    Where they begin and end is decided by sizes alone: nothing is read for it.

    Args:
        file: `File`.
        range_bytes: int. Size of a piece, where a piece can be cut.

    Yields:
        Tuples of `Piece` and its size in bytes.
    """
    if file.records is not None:
        start, stop, num_records = file.records
        record_bytes = file.size / max(1, num_records)
        step = max(1, int(_TFDS_RANGES * range_bytes / max(1, record_bytes)))
    elif file.path.endswith(".gz"):
        yield Piece(file.format, file.path, 0, math.inf), file.size
        return
    else:
        start, stop, step, record_bytes = 0, file.size, range_bytes, 1
    # One piece at least: an empty Parquet file is a broken one, and reading says so.
    for begin in range(start, max(stop, start + 1), step):
        end = min(begin + step, stop)
        yield (
            Piece(file.format, file.path, begin, end),
            int((end - begin) * record_bytes),
        )
