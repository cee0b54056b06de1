"""Corpora of any size: their files, divided into parts for any number of workers."""

import collections
import dataclasses
import functools
import glob
import hashlib
import json
import math
import os
import pathlib
from typing import NamedTuple

from albert_keras.checks import check_choice
from albert_keras.system.fingerprints import fingerprint_file
from albert_keras.system.storage import absolute, find_addresses, is_address
from albert_keras.text.formats import Piece, ReadOptions, read_piece
from albert_keras.text.text_files import ENCODING_ERRORS
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

PART_BYTES = 2**21

# Bytes that are read in the time of opening a file. Limits the files of a part.
_FILE_BYTES = 2**10


class File(NamedTuple):
    """A file of a corpus."""

    path: str
    format: str  # a key of `formats.DOCUMENT_READERS`
    size: int  # bytes on disk
    records: list | None = None  # for TFDS, `[start, stop, number in the whole file]`


class Part(NamedTuple):
    """Pieces of files that one worker reads, and their size, for progress."""

    pieces: tuple
    num_bytes: int


@dataclasses.dataclass(frozen=True)
class Corpus:
    """A corpus in parts, made by `open_corpus`. It can be pickled.

    The parts in order hold each document of the corpus once, in order. They depend on the
    sizes of the files, not on the number of readers.
    """

    parts: list
    options: ReadOptions
    sources: list  # JSON dicts of the files, or of the documents' digest

    @functools.cached_property
    def num_bytes(self):
        """Size of all parts, for progress."""
        return sum(part.num_bytes for part in self.parts)

    def read(self, part, counts=None):
        """Yields the documents of a part, each a non-empty list of non-empty str.

        Adds to `counts`, a `collections.Counter`; see `read_piece`.

        Raises:
            ValueError: If a file does not have the expected format; with its name and the
                byte, line, row or record.
        """
        counts = collections.Counter() if counts is None else counts
        for piece in part.pieces:
            yield from read_piece(piece, self.options, counts)

    def file_fingerprints(self):
        """Returns a list of `[path, fingerprint of the content]`; one for documents."""
        return [
            [source["path"], fingerprint_file(source["path"])]
            if "path" in source
            else ["documents", source["sha256"]]
            for source in self.sources
        ]

    def fingerprint(self, files):
        """Returns a str that depends on all content and on the options of reading it.

        `files` are the `file_fingerprints`. Paths and times make no difference.
        """
        kinds = [[s.get("format"), s.get("records")] for s in self.sources]
        content = [self.options, kinds, [content for _, content in files]]
        content = json.dumps(content, sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:16]


def open_corpus(
    sources, *, format=None, errors="strict", text_column="text", part_bytes=PART_BYTES
):
    r"""Opens a `Corpus` of any size, to be read in parts.

    Plain text (`.txt`) has one sentence per line, and a blank line between documents.
    JSONL (`.jsonl`) has one document per line as `{"text": ...}`, Parquet (`.parquet`)
    and TFDS one per row. Their paragraphs end at newlines; `split_sentences` splits them.
    Text and JSONL may be compressed (`.txt.gz`, `.jsonl.gz`); only uncompressed files are
    cut into parts. No file is read here. Reading TFDS imports TensorFlow, also in
    workers.

    Documents of more than about two million characters are cut, between sentences or at
    white space; in plain text, at the end of a part without a blank line.

    Args:
        sources: str or path, or a list of these: files, glob patterns, folders (all
            files with one of the suffixes above, sorted), or `"tfds:NAME:SPLIT"` such
            as `"tfds:wikipedia/20230601.en:train[:10%]"`, by default of split `train`,
            prepared by `tfds build`. Files can be in an object store: addresses such as
            `"s3://bucket/texts/*.txt"` (extra `cloud`). Or a list of documents, each a
            list of str, or a `Corpus`, which is returned.
        format: `"text"`, `"jsonl"` or `"parquet"`. By default the suffixes decide.
        errors: `"strict"`, or `"replace"` to replace invalid UTF-8 by U+FFFD.
        text_column: str. Name of the text in JSONL, Parquet and TFDS.
        part_bytes: int. Approximate size of a part.

    Raises:
        FileNotFoundError: If a path, pattern or folder has no file.
        ValueError: If a format is unknown, or all files are empty.
        TypeError: If the sources are neither paths nor documents.
        ImportError: If a source needs a package that is not installed.

    Example:

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "two.txt")
    >>> _ = path.write_text("It rains.\nIt pours.\n\nThe sun is out.\n")
    >>> corpus = open_corpus(path)
    >>> [document for part in corpus.parts for document in corpus.read(part)]
    [['It rains.', 'It pours.'], ['The sun is out.']]
    """
    if isinstance(sources, Corpus):
        return sources
    if format is not None:
        check_choice("format", format, FORMATS)
    check_choice("errors", errors, ENCODING_ERRORS)
    if isinstance(sources, str | os.PathLike):
        sources = [sources]
    if not isinstance(sources, list | tuple):
        raise TypeError(
            "`sources` must be a path, a list of paths, or a list of documents. "
            f"Received: {sources!r:.80} (of type {type(sources).__name__})."
        )
    if all(isinstance(source, str | os.PathLike) for source in sources):
        files = [f for s in sources for f in find_files(s, format, text_column)]
        described = [{**f._asdict(), "path": absolute(f.path)} for f in files]
        pieces = (piece for file in files for piece in cut_file(file, part_bytes))
    else:
        described = [_digest(sources)]
        pieces = _cut_documents(sources, part_bytes)
    options = ReadOptions(errors, text_column, part_bytes)
    corpus = Corpus(list(_group(pieces, part_bytes)), options, described)
    if not corpus.num_bytes:
        names = [f"'{source['path']}'" for source in described if "path" in source]
        received = ", ".join(names[:3] + ["..."] * (len(names) > 3)) or "documents"
        raise ValueError(
            f"The corpus must hold a document. Received: {received}, empty."
        )
    return corpus


def read_documents(paths, format=None, errors="strict"):
    """Reads the documents of text files, with only one document in memory.

    Arguments are those of `open_corpus`. Returns an iterator of documents, each a
    non-empty list of non-empty str.

    Raises:
        FileNotFoundError: At once, if a path, pattern or folder has no file.
        ValueError: At once, if a format is unknown; while reading, if a file does not
            have the expected format.
    """
    corpus = open_corpus(paths, format=format, errors=errors)
    return (document for part in corpus.parts for document in corpus.read(part))


def _group(pieces, part_bytes):
    """Groups `(piece, num_bytes)` into `Part`s, small files together."""
    group, num_bytes = [], 0
    for piece, piece_bytes in pieces:
        group.append(piece)
        num_bytes += piece_bytes
        if num_bytes + len(group) * _FILE_BYTES >= part_bytes:
            yield Part(tuple(group), num_bytes)
            group, num_bytes = [], 0
    if group:
        yield Part(tuple(group), num_bytes)


def _cut_documents(documents, part_bytes):
    """Yields `(piece, number of characters)` of consecutive documents."""
    begin = num_characters = 0
    for end, document in enumerate(documents, start=1):
        num_characters += sum(map(len, document))
        if num_characters >= part_bytes or end == len(documents):
            yield Piece("memory", documents[begin:end], begin, end), num_characters
            begin, num_characters = end, 0


def _digest(documents):
    digest = hashlib.sha256()
    for document in documents:
        is_list = isinstance(document, list | tuple)
        if not is_list or not all(isinstance(sentence, str) for sentence in document):
            raise TypeError(
                "Each document must be a list of sentences, which are str. "
                f"Received: {document!r:.80}. Do not mix paths and documents."
            )
        digest.update(json.dumps(document).encode())
    return {"num_documents": len(documents), "sha256": digest.hexdigest()}


def find_files(source, format=None, text_column="text"):
    """Lists the `File`s of one source; arguments and errors are as for `open_corpus`."""
    if isinstance(source, str) and source.startswith(PREFIX):
        shards = find_shards(source, text_column)
        return [_describe(path, "tfds", records) for path, *records in shards]
    if is_address(source):
        found = _find_addresses(str(source))
        return [File(path, format or _format_of(path), size) for path, size in found]
    return [_describe(path, format or _format_of(path)) for path in _find_paths(source)]


def _describe(path, format, records=None):
    return File(str(path), format, os.path.getsize(path), records)


def _find_paths(source):
    path = pathlib.Path(source)
    if path.is_file():
        return [path]
    # Not `path.is_dir()`, since the path of "" is the current folder.
    if os.path.isdir(source):
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
