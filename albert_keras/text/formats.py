"""Readers of text formats, which turn ranges of files into documents."""

import collections
import itertools
import math
import textwrap
from typing import Any, NamedTuple

from albert_keras.checks import import_optional
from albert_keras.system.storage import open_file
from albert_keras.text.sentences import split_paragraphs
from albert_keras.text.text_files import (
    LinePlace,
    check_text_column,
    check_unicode,
    decode,
    json_object,
    open_binary,
    raw_lines,
)
from albert_keras.text.tfds import read_tfds

# Longer documents are cut, because memory holds a whole document.
DOCUMENT_CHARACTERS = 2**21

# Options of `textwrap.wrap` that leave the text within lines as it is.
_KEEP_TEXT = {
    "expand_tabs": False,
    "replace_whitespace": False,
    "break_on_hyphens": False,
}

# Documents of a Parquet file that are read together, and bytes of a file.
_BATCH_ROWS = 64
_BUFFER_BYTES = 2**20


class Piece(NamedTuple):
    """A range of a file, which is read without the rest."""

    format: str  # a key of `DOCUMENT_READERS`
    source: Any  # path of the file; a list of documents for `"memory"`
    start: int  # first byte of the range, or record for `"tfds"`
    stop: float  # its end, exclusive; `math.inf` for a whole compressed file


class ReadOptions(NamedTuple):
    """Options of all readers; see `open_corpus`."""

    errors: str
    text_column: str
    range_bytes: int


def read_piece(piece, options, counts):
    """Yields the documents of a piece, each a non-empty list of non-empty str.

    Adds to `counts`, a `collections.Counter`: `"empty_documents"`, records without text;
    `"cut_documents"`, cuts in documents that are too long; `"replaced_bytes"`,
    replacements of invalid UTF-8.

    Raises:
        ValueError: If the file does not have the expected format; with its name.
    """
    for document in DOCUMENT_READERS[piece.format](piece, options, counts):
        if not document:
            counts["empty_documents"] += 1
        elif sum(map(len, document)) <= DOCUMENT_CHARACTERS:
            yield document
        else:
            documents = list(cut_document(document, DOCUMENT_CHARACTERS))
            counts["cut_documents"] += len(documents) - 1
            yield from documents


def cut_document(document, max_characters):
    """Yields parts of a document, cut between sentences or within long sentences.

    >>> list(cut_document(["One.", "Two.", "Seven words."], 9))
    [['One.', 'Two.'], ['Seven'], ['words.']]
    """
    part, num_characters = [], 0
    for sentence in document:
        for piece in textwrap.wrap(sentence, max_characters, **_KEEP_TEXT):
            if part and num_characters + len(piece) > max_characters:
                yield part
                part, num_characters = [], 0
            part.append(piece)
            num_characters += len(piece)
    if part:
        yield part


def _read_text(piece, options, counts):
    """Reads one sentence per line, with blank lines between documents.

    A document belongs to the range in which the blank line before it begins, and is read
    to its end in later ranges. At the end of a range without any blank line it is cut,
    and the next range has the rest. Therefore a file without blank lines is not one
    document in the memory of one worker.
    """
    file, size = piece.source, options.range_bytes
    with open_binary(file) as stream:
        begin = _find_begin(stream, piece, size)
        if begin is None:
            return
        document, current_range, blank_range = [], piece.start // size, -1
        for offset, line in raw_lines(stream, file, begin):
            number, is_foreign = offset // size, offset >= piece.stop
            is_cut = number > current_range and blank_range < number - 1
            current_range = number
            if is_cut and is_foreign:
                if document and not _is_blank(line, offset):
                    counts["cut_documents"] += 1
                break
            text = decode(line, f"'{file}'", offset, options.errors, counts).strip()
            if document and (is_cut or not text):
                if text:
                    counts["cut_documents"] += 1
                yield document
                document = []
            if text:
                document.append(text)
            elif is_foreign:
                break
            else:
                blank_range = number
        if document:
            yield document


def _find_begin(stream, piece, size):
    """Returns the offset where the first document of a range may begin, or `None`."""
    start = piece.start
    if start == 0 or _find_blank_line(stream, piece, start - size, start) is None:
        return start
    return _find_blank_line(stream, piece, start, piece.stop)


def _find_blank_line(stream, piece, start, stop):
    lines = raw_lines(stream, piece.source, start)
    lines = itertools.takewhile(lambda line: line[0] < stop, lines)
    return next((offset for offset, line in lines if _is_blank(line, offset)), None)


def _is_blank(line, offset):
    return not decode(line, "", offset, "replace", collections.Counter()).strip()


def _read_jsonl(piece, options, counts):
    """Reads one document per line. A line belongs to the range in which it begins."""
    file = piece.source
    with open_binary(file) as stream:
        for offset, line in raw_lines(stream, file, piece.start):
            if offset >= piece.stop:
                return
            line = decode(line, f"'{file}'", offset, options.errors, counts).strip()
            if line:
                place, column = LinePlace(file, offset), options.text_column
                row = json_object(line, place)
                # As in tables, null is an empty text, and a missing column an error.
                text = "" if row.get(column, 0) is None else row.get(column)
                if not isinstance(text, str):
                    raise ValueError(
                        f"A JSONL line must have a string `{column}`. Received: {place}: "
                        f"{str(sorted(row))[:80]}. Name another by `--text-column`."
                    )
                text = check_unicode(text, place, options.errors, counts)
                yield split_paragraphs(text)


def _read_parquet(piece, options, counts):
    """Reads one document per row, of the row groups that begin in a range.

    Only whole row groups can be read independently. They are read page by page, so that
    memory holds neither a group nor the file.
    """
    pyarrow = import_optional("pyarrow", "parquet")
    parquet = import_optional("pyarrow.parquet", "parquet")
    file = piece.source
    try:
        with (
            open_file(file) as stream,
            parquet.ParquetFile(
                stream, pre_buffer=False, buffer_size=_BUFFER_BYTES
            ) as table,
        ):
            kinds = ("string", "large_string", "binary", "large_binary")
            texts = [f.name for f in table.schema_arrow if str(f.type) in kinds]
            check_text_column("Parquet file", options.text_column, texts, file)
            for row, content in _read_rows(pyarrow, table, piece, options.text_column):
                place = f"'{file}', row {row}"
                text = decode(content or b"", place, 0, options.errors, counts)
                yield split_paragraphs(text)
    except (pyarrow.ArrowException, OSError) as error:
        # pyarrow raises a plain OSError without a number for damaged files.
        if isinstance(error, OSError) and (error.errno or type(error) is not OSError):
            raise
        raise ValueError(
            f"A Parquet file must be whole. Received: '{file}': {error}"
        ) from error


def _read_rows(pyarrow, table, piece, column):
    """Yields `(row number, bytes or None)`."""
    row = 0
    for index in range(table.num_row_groups):
        group = table.metadata.row_group(index)
        first = group.column(0)
        begin = min(first.data_page_offset, first.dictionary_page_offset or math.inf)
        if piece.start <= begin < piece.stop:
            batches = table.iter_batches(
                _BATCH_ROWS, row_groups=[index], columns=[column], use_threads=False
            )
            contents = (b.column(0).cast(pyarrow.large_binary()) for b in batches)
            rows = (content for batch in contents for content in batch.to_pylist())
            yield from enumerate(rows, start=row)
        row += group.num_rows


def _read_memory(piece, options, counts):
    for number, document in enumerate(piece.source, start=piece.start):
        place = f"document {number}"
        sentences = filter(None, document)
        yield [check_unicode(text, place, options.errors, counts) for text in sentences]


DOCUMENT_READERS = {
    "text": _read_text,
    "jsonl": _read_jsonl,
    "parquet": _read_parquet,
    "tfds": read_tfds,
    "memory": _read_memory,
}
