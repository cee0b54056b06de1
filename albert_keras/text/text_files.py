"""Lines of text files, and errors that say where a file is not what it must be."""

import contextlib
import gzip
import io
import json
import re
import zlib
from typing import NamedTuple

# What to do about text that is not UTF-8: an error, or a mark (U+FFFD) in its place.
ENCODING_ERRORS = ("strict", "replace")

# Longer lines and texts are none, and reading one whole could fill the memory.
MAX_BYTES = 2**26

_REPLACEMENT = "\ufffd"
_SURROGATE = re.compile("[\ud800-\udfff]")


def read_lines(file):
    """Yields the lines of a UTF-8 file with their ends.

    Args:
        file: str or path. One that ends in `.gz` is decompressed.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If a line is not UTF-8, with the offset of the byte, or is longer
            than `MAX_BYTES`.
    """
    with open_binary(file) as stream:
        for offset, line in raw_lines(stream, file):
            yield decode(line, f"'{file}'", offset)


@contextlib.contextmanager
def open_binary(file):
    """Opens a file as a stream of bytes; one that ends in `.gz` is decompressed.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If compressed bytes are damaged or end early, with the file's name.
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
            "Fetch or compress it again."
        ) from error


def raw_lines(stream, file, start=0):
    """Yields `(offset, line)`, bytes, of the lines that start at `start` or later.

    Args:
        stream: Binary file.
        file: str or path. Its name in errors.
        start: int. An offset anywhere in the file, in a line's middle too.

    Raises:
        ValueError: If a line is longer than `MAX_BYTES`.
    """
    offset = max(start - 1, 0)
    stream.seek(offset)
    if start:
        # From the byte before, which may end a line: then one starts at `start`.
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
    """Decodes UTF-8, without the byte order mark at the beginning.

    Args:
        content: bytes.
        where: str or object with one, for errors: the file and maybe a place in it.
        offset: int. Position of `content` in what `where` names.
        errors: `"strict"`, or `"replace"` to put U+FFFD where it is not UTF-8.
        counts: `collections.Counter`; `"replaced_bytes"` grows by the marks put.

    Raises:
        ValueError: If it is longer than `MAX_BYTES`, or is not UTF-8 with
            `errors="strict"`.
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
    r"""Returns a text that can be encoded: JSON's `"\ud800"` alone cannot.

    Args:
        text: str.
        where, errors, counts: As for `decode`.

    Raises:
        ValueError: If `errors="strict"` and a surrogate stands alone.
    """
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
    """Returns the dict that a line of a JSONL file holds.

    Args:
        line: str.
        where: str or object with one, for errors: the file and the line's number.

    Raises:
        ValueError: If the line is not a JSON object.
    """
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"A JSONL line must be a JSON object. Received: {where}: {error}."
        ) from error
    if not isinstance(value, dict):
        raise ValueError(
            f"A JSONL line must be a JSON object. Received: {where}: {value!r:.80}."
        )
    return value


def read_json_lines(path):
    """Yields number, place (for errors) and dict of each line that is not blank.

    Raises:
        ValueError: If a line is not a JSON object.
    """
    for line_number, line in enumerate(read_lines(path), start=1):
        if line.strip():
            where = f"'{path}', line {line_number}"
            yield line_number, where, json_object(line, where)


class LinePlace(NamedTuple):
    """A line's place by its offset; its number is counted only if somebody asks.

    Attributes:
        file: str or path.
        offset: int. Where the line begins, in bytes (decompressed).
    """

    file: str
    offset: int

    def __str__(self):
        number, left = 1, self.offset
        with open_binary(self.file) as stream:
            while left and (block := stream.read(min(left, 2**20))):
                number += block.count(b"\n")
                left -= len(block)
        return f"'{self.file}', line {number}"
