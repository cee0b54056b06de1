"""Readers of text files, with errors that locate invalid content."""

import codecs
import collections
import contextlib
import gzip
import io
import json
import sys
import zlib
from typing import NamedTuple

from albert_keras.system.storage import open_file

# Invalid UTF-8 is an error or becomes U+FFFD.
ENCODING_ERRORS = ("strict", "replace")

# Maximum length of a line or text in bytes. A longer one is no text, and could fill the
# memory.
MAX_BYTES = 2**26

# Path that means standard input.
STANDARD_INPUT = "-"

_REPLACEMENT = "\ufffd"


class Decoding(NamedTuple):
    """Encoding of a text file, and treatment of errors.

    Attributes:
        encoding: str. Name of one of Python's encodings.
        errors: str, one of `ENCODING_ERRORS`.
    """

    encoding: str = "utf-8"
    errors: str = "strict"


UTF_8 = Decoding()


def read_lines(file, decoding=UTF_8):
    """Yields the lines of a text file (`.gz` is decompressed), with their line ends.

    In a file without line feeds, carriage returns end lines.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If a line is not in the encoding (with the byte offset for UTF-8), or
            longer than `MAX_BYTES` (in characters for other encodings).
    """
    try:
        is_utf_8 = codecs.lookup(decoding.encoding).name == "utf-8"
    except LookupError as error:
        raise ValueError(
            "`encoding` must be one of Python's, such as utf-8, cp1252 or gb18030. "
            f"Received: encoding={decoding.encoding!r}."
        ) from error
    with open_binary(file) as stream:
        if is_utf_8:
            replaced = collections.Counter()
            lines = (
                decode(line, f"'{file}'", offset, decoding.errors, replaced)
                for offset, line in raw_lines(stream, file)
            )
        else:
            lines = _decoded_lines(stream, file, decoding)
        for number, line in enumerate(lines):
            is_file = number == 0 and not line.endswith("\n")
            yield from io.StringIO(line, newline="") if is_file else [line]


def _decoded_lines(stream, file, decoding):
    """Yields lines of another encoding, whose line ends may have several bytes."""
    encoding, errors = decoding
    try:
        with io.TextIOWrapper(stream, encoding, errors, newline="\n") as lines:
            offset = 0
            while line := _read_line(lines, file, offset, "character"):
                yield line
                offset += len(line)
    except UnicodeError as error:
        raise ValueError(
            f"Text must be in its `encoding`. Received: '{file}', which is not "
            f"{encoding}: {getattr(error, 'reason', error)}. Give another by "
            "`--encoding`, or replace such bytes (`--errors replace`)."
        ) from error


@contextlib.contextmanager
def open_binary(file):
    """Opens a file, or `STANDARD_INPUT`, as a stream of bytes; `.gz` is decompressed.

    Raises:
        ValueError: If a compressed file is damaged; with its name.
    """
    if file == STANDARD_INPUT:
        # The whole input, since readers seek, which a pipe cannot.
        yield io.BytesIO(sys.stdin.buffer.read())
        return
    if not str(file).endswith(".gz"):
        with open_file(file) as stream:
            yield stream
        return
    try:
        with open_file(file) as compressed, gzip.open(compressed) as stream:
            yield io.BufferedReader(stream, 2**17)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(
            f"A .gz file must be whole. Received: '{file}': {error}. "
            "Download or compress it again."
        ) from error


def raw_lines(stream, file, start=0):
    """Yields `(offset, line)` of the lines that begin at `start` or later, as bytes.

    `start` may be within a line; `file` is the name for errors.
    """
    offset = max(start - 1, 0)
    stream.seek(offset)
    if start:
        # If the byte before `start` ends a line, a line begins at `start`.
        offset += len(_read_line(stream, file, offset))
    while line := _read_line(stream, file, offset):
        yield offset, line
        offset += len(line)


def _read_line(stream, file, offset, unit="byte"):
    line = stream.readline(MAX_BYTES + 1)
    if len(line) > MAX_BYTES:
        raise ValueError(
            f"A line must hold at most {MAX_BYTES} {unit}s. "
            f"Received: '{file}', longer from {unit} {offset} on. Is it a text file?"
        )
    return line


def decode(content, where, offset=0, errors="strict", counts=None):
    """Decodes UTF-8 and removes a byte order mark at offset 0.

    Args:
        content: bytes.
        where: str, or object with `__str__`. Place of the content, for errors.
        offset: int. Offset of the content in this place, in bytes.
        errors: str, one of `ENCODING_ERRORS`.
        counts: `collections.Counter`. Counts replacements as `"replaced_bytes"`.

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
                f"{offset + error.start}. Convert it, give the encoding of rows "
                "(`--encoding utf-16`), or replace such bytes (`--errors replace`)."
            ) from error
        text = content.decode("utf-8", "replace")
        num_present = content.count(_REPLACEMENT.encode())
        counts["replaced_bytes"] += text.count(_REPLACEMENT) - num_present
    # Editors on Windows write a byte order mark before the first word.
    return text.removeprefix("\ufeff") if offset == 0 else text


def check_text_column(kind, column, texts, where):
    """Checks that a column is among those of text, a list of str."""
    if column not in texts:
        raise ValueError(
            f"A {kind} must have a column `{column}` of text. Received: '{where}', whose "
            f"columns of text are {texts}. Name one by `--text-column`."
        )


def check_unicode(text, where, errors, counts):
    r"""Checks or replaces lone surrogates, such as `"\ud800"` in JSON; see `decode`."""
    if text.isascii():
        return text
    return decode(text.encode("utf-8", "surrogatepass"), where, 0, errors, counts)


def json_object(line, where):
    """Parses a line of a JSONL file to a dict.

    Raises:
        ValueError: If the line is not a JSON object; with the place `where`.
    """
    rule = "A JSONL line must be a JSON object."
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        value = error
    if line.lstrip().startswith("["):
        raise ValueError(
            f"{rule} Received: {where}, with an array. Write each of its objects on a "
            'line of its own (pandas: `to_json(path, orient="records", lines=True)`).'
        )
    if not isinstance(value, dict):
        raise ValueError(f"{rule} Received: {where}: {value!s:.80}.")
    return value


def read_json_lines(path, decoding=UTF_8, skips_broken=False):
    """Yields the number, the place for errors, and the dict of each non-blank line.

    With `skips_broken`, a line that is not a JSON object yields an empty dict.
    """
    for line_number, line in enumerate(read_lines(path, decoding), start=1):
        if line.strip():
            where = f"'{path}', line {line_number}"
            try:
                row = json_object(line, where)
            except ValueError:
                if not skips_broken:
                    raise
                row = {}
            yield line_number, where, row


class LinePlace(NamedTuple):
    """Place of a line. Its number is counted only when an error is printed."""

    file: str
    offset: int  # first byte of the line (decompressed)

    def __str__(self):
        with open_binary(self.file) as stream:
            lines = enumerate(raw_lines(stream, self.file), start=1)
            number = next((n for n, (offset, _) in lines if offset == self.offset), "?")
        return f"'{self.file}', line {number}"
