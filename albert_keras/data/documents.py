"""Text files to documents: lists of sentences, streamed, and their token ids."""

import glob
import itertools
import pathlib
from typing import NamedTuple

import numpy as np

from albert_keras.data.sentences import split_sentences
from albert_keras.data.text_files import json_object, read_lines


class TokenizedDocument(NamedTuple):
    """A document as one run of token ids and where its sentences begin.

    Attributes:
        token_ids: int32, `(num_tokens,)`. All sentences, one after the other.
        sentence_offsets: int64, `(num_sentences + 1,)`. Sentence `i` is
            `token_ids[sentence_offsets[i] : sentence_offsets[i + 1]]`; none is empty.
    """

    token_ids: np.ndarray
    sentence_offsets: np.ndarray

    @property
    def num_sentences(self):
        """Number of sentences that have a token."""
        return len(self.sentence_offsets) - 1

    def tokens(self, start, stop):
        """Returns the ids of sentences `start` to `stop` (exclusive)."""
        offsets = self.sentence_offsets
        return self.token_ids[offsets[start] : offsets[stop]]


def read_documents(paths, format=None):
    r"""Reads documents from text files, one at a time.

    Plain text holds a sentence a line and a blank line between documents. JSONL holds
    a document a line as `{"text": ...}`, paragraphs split by newline and sentences by
    `split_sentences`. Only the document being read is in memory.

    Args:
        paths: str, path, or a list of them. A file, a glob pattern, or a folder, of
            which all files with a suffix of `SUFFIXES` are read, in sorted order.
        format: str, a key of `READERS`. By default the file's suffix decides.

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
    if format is not None and format not in READERS:
        raise ValueError(
            f"`format` must be one of {sorted(READERS)}. Received: format={format!r}."
        )
    paths = [paths] if isinstance(paths, str | pathlib.Path) else list(paths)
    files = [file for path in paths for file in _find_files(path)]
    formats = [format or _format_of(file) for file in files]
    return _stream_documents(paths, files, formats)


def tokenize_documents(documents, tokenizer):
    """Encodes documents in one call of the tokenizer.

    Args:
        documents: list of documents, each a list of str.
        tokenizer: object with `encode_batch(list of str) -> list of list of int`.

    Returns:
        List of `TokenizedDocument`, as long as `documents`. A sentence without tokens
        is left out, so a document may have no sentence at all.
    """
    sentences = list(itertools.chain.from_iterable(documents))
    encoded = iter(tokenizer.encode_batch(sentences))
    return [_join_sentences(itertools.islice(encoded, len(d))) for d in documents]


def _join_sentences(sentences):
    sentences = [sentence for sentence in sentences if len(sentence)]
    offsets = np.cumsum([0, *map(len, sentences)])
    token_ids = itertools.chain.from_iterable(sentences)
    return TokenizedDocument(np.fromiter(token_ids, np.int32, offsets[-1]), offsets)


def _find_files(path):
    path = pathlib.Path(path)
    if path.is_file():
        return [path]
    if path.is_dir():
        files = sorted(f for f in path.rglob("*") if f.suffix in SUFFIXES)
        expected = f"a folder with {', '.join(SUFFIXES)} files"
    else:
        files = [pathlib.Path(name) for name in glob.glob(str(path), recursive=True)]
        files = sorted(file for file in files if file.is_file())
        expected = "an existing file, folder or glob pattern"
    if not files:
        raise FileNotFoundError(f"`paths` must name {expected}. Received: '{path}'.")
    return files


def _format_of(file):
    if file.suffix not in SUFFIXES:
        raise ValueError(
            f"The suffix must be one of {', '.join(SUFFIXES)} to tell the format. "
            f"Received: '{file}'. Pass `format`, one of {sorted(READERS)}."
        )
    return SUFFIXES[file.suffix]


def _stream_documents(paths, files, formats):
    num_documents = 0
    for file, format in zip(files, formats, strict=True):
        for document in READERS[format](file):
            num_documents += 1
            yield document
    if not num_documents:
        names = ", ".join(f"'{path}'" for path in paths)
        raise ValueError(f"The corpus must hold a document. Received: {names}, empty.")


def _read_plain_text(file):
    document = []
    for line in map(str.strip, read_lines(file)):
        if line:
            document.append(line)
        elif document:
            yield document
            document = []
    if document:
        yield document


def _read_jsonl(file):
    for line_number, line in enumerate(map(str.strip, read_lines(file)), start=1):
        if not line:
            continue
        paragraphs = _json_text(line, file, line_number).splitlines()
        document = [s for paragraph in paragraphs for s in split_sentences(paragraph)]
        if document:
            yield document


def _json_text(line, file, line_number):
    document = json_object(line, file, line_number)
    if not isinstance(document.get("text"), str):
        raise ValueError(
            "A JSONL line must be an object with a string `text`. "
            f"Received: '{file}', line {line_number}: {str(sorted(document))[:80]}."
        )
    return document["text"]


READERS = {"text": _read_plain_text, "jsonl": _read_jsonl}
SUFFIXES = {".txt": "text", ".jsonl": "jsonl"}
