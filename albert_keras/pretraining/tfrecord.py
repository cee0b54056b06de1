"""TFRecord files without TensorFlow: their framing, and where their records begin.

A record is the length of its payload (8 bytes), the checksum of these, the payload and
its checksum (4 bytes each), all little-endian.

Reference: tensorflow/core/lib/io/record_writer.h.
"""

import itertools
import os
import struct

import google_crc32c
import numpy as np

# Records read, and shuffled in training, together: 14 MB at sequence length 512.
RUN_RECORDS = 4096

_LENGTH, _CHECKSUM = struct.Struct("<Q"), struct.Struct("<I")
_HEADER_SIZE = _LENGTH.size + _CHECKSUM.size
_FRAME_SIZE = _HEADER_SIZE + _CHECKSUM.size
_BUFFER_SIZE = 2**20


def masked_crc32c(data):
    """Returns the checksum of bytes as TFRecord files hold it, an int.

    Example:

    >>> hex(masked_crc32c(b"123456789"))
    '0xc78ab0e5'
    """
    checksum = google_crc32c.value(data)
    return ((checksum >> 15 | checksum << 17) + 0xA282EAD8) & 0xFFFFFFFF


def frame_records(blob, ends):
    """Makes TFRecords of payloads.

    Args:
        blob: bytes. One payload after the other.
        ends: int64, `(num_records,)`. Where each ends in `blob`.

    Returns:
        Tuple of the same form: one record after the other, and where each ends.
    """
    pieces, start = [], 0
    for end in ends.tolist():
        length, payload = _LENGTH.pack(end - start), blob[start:end]
        pieces += (length, _checksum(length), payload, _checksum(payload))
        start = end
    return b"".join(pieces), ends + _FRAME_SIZE * np.arange(1, len(ends) + 1)


def index_records(path):
    """Finds the runs of records in a TFRecord file, reading no payload.

    Args:
        path: str or path.

    Returns:
        Dict, ready for JSON: `examples`, how many records; `bytes`, the size of the
        file; `run_offsets`, where records 0, 4096, 8192, ... begin.

    Raises:
        ValueError: If the file ends within a record, or has other bytes in between.
    """
    num_records, run_offsets = 0, []
    with open(path, "rb", buffering=_BUFFER_SIZE) as file:
        for start, _ in _find_records(file, path):
            if num_records % RUN_RECORDS == 0:
                run_offsets.append(start)
            num_records += 1
    size = os.path.getsize(path)
    return {"examples": num_records, "bytes": size, "run_offsets": run_offsets}


def read_records(path, offset=0, count=None):
    """Yields the payloads of a TFRecord file, as bytes.

    Args:
        path: str or path.
        offset: int. Byte at which the first record to read begins.
        count: int, or None. Number of records to read; all of the rest by default.

    Raises:
        ValueError: If the file is truncated or corrupt.
    """
    with open(path, "rb", buffering=_BUFFER_SIZE) as file:
        records = _find_records(file, path, offset)
        for start, length in itertools.islice(records, count):
            payload = file.read(length)
            if file.read(_CHECKSUM.size) != _checksum(payload):
                raise _broken(path, start)
            yield payload


def _find_records(file, path, start=0):
    """Yields each record's start and payload length, with `file` at the payload."""
    size = os.fstat(file.fileno()).st_size
    while start < size:
        file.seek(start)
        header = file.read(_HEADER_SIZE)
        length = header[: _LENGTH.size]
        if len(header) < _HEADER_SIZE or header[_LENGTH.size :] != _checksum(length):
            raise _broken(path, start)
        (length,) = _LENGTH.unpack(length)
        end = start + length + _FRAME_SIZE
        if end > size:
            raise _broken(path, start)
        yield start, length
        start = end


def _checksum(data):
    return _CHECKSUM.pack(masked_crc32c(data))


def _broken(path, start):
    return ValueError(
        f"A TFRecord file must be whole. Received: '{path}', truncated or corrupt at "
        f"byte {start}. Write it anew."
    )
