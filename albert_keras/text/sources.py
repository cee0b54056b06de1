"""Sources of text: files, folders, globs and TFDS data sets, cut into pieces."""

import glob
import math
import os
import pathlib
from typing import NamedTuple

from albert_keras.system.storage import find_addresses, is_address
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

# Reading a TFRecord reads all records before it, so TFDS has longer ranges.
_TFDS_RANGES = 8


class File(NamedTuple):
    """A file of a corpus, with size and time to detect changes."""

    path: str
    format: str  # a key of `formats.DOCUMENT_READERS`
    size: int  # bytes on disk
    mtime_ns: int  # 0 in object stores
    records: list | None = None  # for TFDS, `[start, stop, number in the whole file]`


def find_files(source, format=None, text_column="text"):
    """Lists the `File`s of one source; arguments and errors are as for `open_corpus`."""
    if isinstance(source, str) and source.startswith(PREFIX):
        shards = find_shards(source, text_column)
        return [_describe(path, "tfds", records) for path, *records in shards]
    if is_address(source):
        return [
            File(address, format or _format_of(address), size, 0)
            for address, size in _find_addresses(str(source))
        ]
    return [_describe(path, format or _format_of(path)) for path in _find_paths(source)]


def _describe(path, format, records=None):
    status = os.stat(path)
    return File(str(path), format, status.st_size, status.st_mtime_ns, records)


def _find_paths(source):
    if source == "":
        # `pathlib.Path("")` is the current folder.
        _fail_to_find(source)
    path = pathlib.Path(source)
    if path.is_file():
        return [path]
    if path.is_dir():
        found = (p for p in path.rglob("*") if p.name.endswith(tuple(SUFFIXES)))
    else:
        found = map(pathlib.Path, glob.glob(str(source), recursive=True))
    return sorted(path for path in found if path.is_file()) or _fail_to_find(source)


def _find_addresses(source):
    found = find_addresses(source)
    if not glob.has_magic(source) and [address for address, _ in found] != [source]:
        found = [file for file in found if file[0].endswith(tuple(SUFFIXES))]
    return found or _fail_to_find(source)


def _fail_to_find(source):
    raise FileNotFoundError(
        "Sources must name existing files, a glob pattern, or a folder with "
        f"{', '.join(SUFFIXES)} files. Received: '{source}'."
    )


def _format_of(path):
    for suffix, format in SUFFIXES.items():
        if str(path).endswith(suffix):
            return format
    raise ValueError(
        f"The suffix must be one of {', '.join(SUFFIXES)}. "
        f"Received: '{path}'. Pass `format`, one of {', '.join(FORMATS)}."
    )


def cut_file(file, range_bytes):
    """Yields pieces of a `File` of about `range_bytes`, and the size of each in bytes.

    The ranges depend only on sizes; the file is not read. Compressed files are not cut.
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
    # At least one piece, since reading an empty Parquet file must raise an error.
    for begin in range(start, max(stop, start + 1), step):
        end = min(begin + step, stop)
        num_bytes = int((end - begin) * record_bytes)
        yield Piece(file.format, file.path, begin, end), num_bytes
