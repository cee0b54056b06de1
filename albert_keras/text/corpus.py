"""A corpus as parts that any number of workers read at the same time."""

import collections
import dataclasses
import functools
import hashlib
import json
import os
from typing import NamedTuple

from albert_keras.checks import check_choice
from albert_keras.text.formats import Piece, ReadOptions, read_piece
from albert_keras.text.sources import FORMATS, cut_file, find_files
from albert_keras.text.text_files import ENCODING_ERRORS

PART_BYTES = 2**21

# What opening a file costs, in bytes that could be read meanwhile: else a part could be
# of a hundred thousand files.
_FILE_BYTES = 2**10


class Part(NamedTuple):
    """What one worker reads at a time.

    Attributes:
        pieces: tuple of `Piece`. Ranges of files, or whole ones, in the corpus' order.
        num_bytes: int. Their size, for progress; compressed files' as they are.
    """

    pieces: tuple
    num_bytes: int


@dataclasses.dataclass(frozen=True)
class Corpus:
    """Documents in parts; `open_corpus` makes it, and it pickles.

    The documents of all parts, one part after the other, are those of the corpus, each
    once and in order. Parts are decided by the files' sizes, whoever reads them.

    Attributes:
        parts: list of `Part`.
        options: `ReadOptions`.
        sources: list of dict, ready for JSON: each file, or the documents' digest.
    """

    parts: list
    options: ReadOptions
    sources: list

    @functools.cached_property
    def num_bytes(self):
        """Size of all parts, for progress."""
        return sum(part.num_bytes for part in self.parts)

    def read(self, part, counts=None):
        """Yields the documents of a part, one at a time.

        Args:
            part: `Part` of this corpus.
            counts: `collections.Counter`, to which is added: `"empty_documents"`,
                records without text; `"cut_documents"`, cuts made in documents that are
                too long to be one; `"replaced_bytes"`, places that were not UTF-8.

        Yields:
            Documents, each a non-empty list of non-empty str.

        Raises:
            ValueError: If a file is not what its format says, with its name and the
                byte, line, row or record.
        """
        counts = collections.Counter() if counts is None else counts
        for piece in part.pieces:
            yield from read_piece(piece, self.options, counts)

    def describe(self):
        """Returns a dict, ready for JSON, that changes if the corpus does."""
        return {**self.options._asdict(), "sources": self.sources}


def open_corpus(
    sources,
    *,
    format=None,
    errors="strict",
    text_column="text",
    part_bytes=PART_BYTES,
):
    r"""Opens text of any size, to be read in parts.

    Plain text (`.txt`) holds a sentence a line and a blank line between documents.
    JSONL (`.jsonl`) holds a document a line as `{"text": ...}`, Parquet (`.parquet`) and
    TFDS one a row; there, paragraphs are split by newline and sentences by
    `split_sentences`. Text and JSONL may be compressed (`.txt.gz`, `.jsonl.gz`); such a
    file is one part, the others are cut. No file is read here.

    A document longer than about two million characters is cut: between sentences, or
    at white space; in plain text where a part has no blank line.

    Args:
        sources: str or path, or a list of these: files, glob patterns, folders (all
            files in them with one of the suffixes above, in sorted order), or
            `"tfds:NAME:SPLIT"`, as `"tfds:wikipedia/20230601.en:train[:10%]"` (all of
            `train` without the split), prepared before by `tfds build`. Or a list of
            documents, each a list of str. A `Corpus` is returned as it is.
        format: `"text"`, `"jsonl"` or `"parquet"`. By default the files' suffixes decide.
        errors: `"strict"`, or `"replace"` to put U+FFFD where text is not UTF-8.
        text_column: str. Name of the text in JSONL, Parquet and TFDS.
        part_bytes: int. Size of a part. Another one gives other parts.

    Returns:
        `Corpus`.

    Raises:
        FileNotFoundError: If a path, pattern or folder holds no file.
        ValueError: If a format is unknown, or no file holds a byte.
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
    options = ReadOptions(errors, text_column, part_bytes)
    if all(isinstance(source, str | os.PathLike) for source in sources):
        corpus = _open_files(sources, format, options)
    else:
        corpus = _open_documents(sources, options)
    if not corpus.num_bytes:
        raise _is_empty(corpus)
    return corpus


def _open_files(sources, format, options):
    files = [
        file
        for source in sources
        for file in find_files(source, format, options.text_column)
    ]
    pieces = (p for file in files for p in cut_file(file, options.range_bytes))
    described = [{**f._asdict(), "path": os.path.abspath(f.path)} for f in files]
    return Corpus(list(_group(pieces, options.range_bytes)), options, described)


def _open_documents(documents, options):
    described = [_digest(documents)]
    pieces = _cut_documents(documents, options.range_bytes)
    return Corpus(list(_group(pieces, options.range_bytes)), options, described)


def read_documents(paths, format=None, errors="strict"):
    r"""Reads the documents of text files, one at a time.

    Only the document being read is in memory. To read in parallel use `open_corpus`,
    which says more about formats, and sources besides files.

    Args:
        paths: str, path, or a list of them: files, glob patterns, or folders.
        format: `"text"`, `"jsonl"` or `"parquet"`. By default the files' suffixes decide.
        errors: `"strict"`, or `"replace"` to put U+FFFD where text is not UTF-8.

    Returns:
        Iterator of documents, each a non-empty list of non-empty str.

    Raises:
        FileNotFoundError: At once, if a path, pattern or folder holds no file.
        ValueError: At once, if a format is unknown; while reading, for a file that is
            not UTF-8 (with byte offset), a JSONL line that is no document (with line
            number), or when the files hold no document.

    Example:

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "two.txt")
    >>> _ = path.write_text("It rains.\nIt pours.\n\nThe sun is out.\n")
    >>> list(read_documents(path))
    [['It rains.', 'It pours.'], ['The sun is out.']]
    """
    paths = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    return _stream(open_corpus(paths, format=format, errors=errors))


def _stream(corpus):
    is_empty = True
    for part in corpus.parts:
        for document in corpus.read(part):
            is_empty = False
            yield document
    if is_empty:
        raise _is_empty(corpus)


def _is_empty(corpus):
    names = [f"'{source['path']}'" for source in corpus.sources if "path" in source]
    received = ", ".join(names[:3] + ["..."] * (len(names) > 3)) or "documents"
    return ValueError(f"The corpus must hold a document. Received: {received}, empty.")


def _group(pieces, part_bytes):
    """Yields `Part`s of `(piece, num_bytes)`, so that small files go together."""
    group, num_bytes, cost = [], 0, 0
    for piece, piece_bytes in pieces:
        group.append(piece)
        num_bytes += piece_bytes
        cost += piece_bytes + _FILE_BYTES
        if cost >= part_bytes:
            yield Part(tuple(group), num_bytes)
            group, num_bytes, cost = [], 0, 0
    if group:
        yield Part(tuple(group), num_bytes)


def _cut_documents(documents, part_bytes):
    """Yields a `Piece` and its characters for each run of documents."""
    begin = num_characters = 0
    for end, document in enumerate(documents, start=1):
        num_characters += sum(map(len, document))
        if num_characters >= part_bytes or end == len(documents):
            run = documents[begin:end]
            yield Piece("memory", run, begin, end), num_characters
            begin, num_characters = end, 0


def _digest(documents):
    digest = hashlib.sha256()
    for document in documents:
        if not isinstance(document, list | tuple):
            raise TypeError(
                "Each document must be a list of sentences. "
                f"Received: {document!r:.80}. Paths do not go with documents."
            )
        for sentence in document:
            if not isinstance(sentence, str):
                raise TypeError(
                    "Each sentence must be a str. "
                    f"Received: {sentence!r:.80} (of type {type(sentence).__name__})."
                )
        digest.update(json.dumps(document).encode())
    return {"num_documents": len(documents), "sha256": digest.hexdigest()}
