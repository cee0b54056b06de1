"""Reading of text files, with errors that give the place of invalid content."""

import contextlib
import gzip
import io
import json
import re
import zlib
from typing import NamedTuple

# Invalid UTF-8 is an error, or is replaced by U+FFFD.
ENCODING_ERRORS = ("strict", "replace")

# Longest line or text in bytes. A longer one is not text, and could fill the memory.
MAX_BYTES = 2**26

_REPLACEMENT = "\ufffd"
_SURROGATE = re.compile("[\ud800-\udfff]")


def read_lines(file):
    """Yields the lines of a UTF-8 file (`.gz` is decompressed), with their line ends.

    Raises:
        ValueError: If a line is not UTF-8, with the byte offset, or longer than
            `MAX_BYTES`.
    """
    with open_binary(file) as stream:
        for offset, line in raw_lines(stream, file):
            yield decode(line, f"'{file}'", offset)


@contextlib.contextmanager
def open_binary(file):
    """Opens a file as a stream of bytes; one that ends in `.gz` is decompressed.

    Raises:
        ValueError: If a compressed file is damaged, with its name.
    """
    if not str(file).endswith(".gz"):
        with open(file, "rb") as stream:
            yield stream
        return
    try:
        with gzip.open(file, "rb") as stream:
            yield io.BufferedReader(stream, 2**17)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(
            f"A .gz file must be whole. Received: '{file}': {error}. "
            "Download or compress it again."
        ) from error


def raw_lines(stream, file, start=0):
    """Yields `(offset, line)` of the lines that begin at `start` or later, as bytes.

    The start can be within a line; `file` is the name for errors.
    """
    offset = max(start - 1, 0)
    stream.seek(offset)
    if start:
        # If the byte before `start` ends a line, a line begins at `start`.
        offset += len(_read_line(stream, file, offset))
    while line := _read_line(stream, file, offset):
        yield offset, line
        offset += len(line)


def _read_line(stream, file, offset):
    line = stream.readline(MAX_BYTES + 1)
    if len(line) > MAX_BYTES:
        raise ValueError(
            f"A line must hold at most {MAX_BYTES} bytes. "
            f"Received: '{file}', longer from byte {offset} on. Is it a text file?"
        )
    return line


def decode(content, where, offset=0, errors="strict", counts=None):
    """Decodes UTF-8 and removes a byte order mark at offset 0.

    Args:
        content: bytes, at `offset` in the place `where`, named in errors.
        where: str, or object with `__str__`.
        errors: one of `ENCODING_ERRORS`.
        counts: `collections.Counter`; replacements are added to `"replaced_bytes"`.

    Raises:
        ValueError: If the content is longer than `MAX_BYTES`, or not UTF-8.
    """
    if len(content) > MAX_BYTES:
        raise ValueError(
            f"A text must hold at most {MAX_BYTES} bytes. "
            f"Received: {where}, with {len(content)}."
        )
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        if errors == "strict":
            raise ValueError(
                f"Text must be UTF-8. Received: {where}, which is not at byte "
                f"{offset + error.start}. Convert it, for example with iconv, or "
                'replace such bytes (`errors="replace"`, `--errors replace`).'
            ) from error
        text = content.decode("utf-8", "replace")
        num_present = content.count(_REPLACEMENT.encode())
        counts["replaced_bytes"] += text.count(_REPLACEMENT) - num_present
    # Editors on Windows put a byte order mark before the first word.
    return text.removeprefix("\ufeff") if offset == 0 else text


def check_unicode(text, where, errors, counts):
    r"""Checks or replaces lone surrogates, such as `"\ud800"` in JSON; as `decode`."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    if errors == "strict":
        raise ValueError(
            f"Text must be Unicode. Received: {where}, with half a surrogate pair. "
            'Repair it, or replace it (`errors="replace"`, `--errors replace`).'
        )
    text, num_replaced = _SURROGATE.subn(_REPLACEMENT, text)
    counts["replaced_bytes"] += num_replaced
    return text


def json_object(line, where):
    """Parses a line of a JSONL file to a dict.

    Raises:
        ValueError: If the line is not a JSON object; the message says `where`.
    """
    rule = "A JSONL line must be a JSON object."
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{rule} Received: {where}: {error}.") from error
    if not isinstance(value, dict):
        raise ValueError(f"{rule} Received: {where}: {value!r:.80}.")
    return value


def read_json_lines(path):
    """Yields the number, the place for errors, and the dict of each non-blank line."""
    for line_number, line in enumerate(read_lines(path), start=1):
        if line.strip():
            where = f"'{path}', line {line_number}"
            yield line_number, where, json_object(line, where)


class LinePlace(NamedTuple):
    """Place of a line; its number is only counted when an error is printed."""

    file: str
    offset: int  # first byte of the line (decompressed)

    def __str__(self):
        number, left = 1, self.offset
        with open_binary(self.file) as stream:
            while left and (block := stream.read(min(left, 2**20))):
                number += block.count(b"\n")
                left -= len(block)
        return f"'{self.file}', line {number}"
