"""Reader of one text column of Parquet files, in small batches."""

import math

from albert_keras.checks import import_optional
from albert_keras.system.storage import open_file
from albert_keras.text.sentences import split_paragraphs
from albert_keras.text.text_files import decode

# Documents read together.
_BATCH_ROWS = 64

_BUFFER_BYTES = 2**20


def read_parquet(piece, options, counts):
    """Yields the documents of the row groups that begin in a range; as `read_piece`.

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
            _check_column(table.schema_arrow, options.text_column, file)
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


def _check_column(schema, column, file):
    kinds = ("string", "large_string", "binary", "large_binary")
    columns = [field.name for field in schema if str(field.type) in kinds]
    if column not in columns:
        raise ValueError(
            f"A Parquet file must have a column `{column}` of text. Received: '{file}', "
            f"with {columns}. Name one by `--text-column`."
        )


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
