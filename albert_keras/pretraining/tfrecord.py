"""TFRecord files of `tf.train.Example`s, written and read without TensorFlow.

Written 512 at a time, an example of length 512 takes 18 microseconds, of 64 for its whole
preparation. `tf.train.Example` and `tf.io.TFRecordWriter` take 86, and importing
TensorFlow would add 660 MB to each worker. The bytes are the same.

A record is the payload's length (8 bytes) and its checksum, the payload and its checksum
(4 bytes each), little-endian. A payload is one serialized `tf.train.Example`.

Reference: tensorflow/core/lib/io/record_writer.h, tensorflow/core/example/example.proto,
https://protobuf.dev/programming-guides/encoding/.
"""

import itertools
import math
import os
import struct
from typing import NamedTuple

import google_crc32c
import numpy as np

from albert_keras.pretraining.shuffling import split_items
from albert_keras.system.storage import open_file
from albert_keras.tokenizers.ragged import offsets_of

# Records that training reads and shuffles together: 14 MB at sequence length 512.
RUN_RECORDS = 4096

_LENGTH, _CHECKSUM = struct.Struct("<Q"), struct.Struct("<I")
_HEADER_SIZE = _LENGTH.size + _CHECKSUM.size
_FRAME_SIZE = _HEADER_SIZE + _CHECKSUM.size


class _Parts(NamedTuple):
    """One part of each of `batch` protocol buffer messages.

    Columns are pairs of matrices `(batch, width)`: bytes (uint8), and whether each byte
    is used (bool), because numbers differ in length.
    """

    columns: list
    lengths: np.ndarray  # (batch,) used bytes


def serialize_columns(features):
    """Serializes a batch of `tf.train.Example`s to a list of bytes.

    Args:
        features: dict from feature name (ASCII) to an array `(batch, ...)`. Floats become
            a `FloatList`, all else an `Int64List`.

    Raises:
        ValueError: If an integer is negative.
    """
    # In alphabetical order, as TensorFlow's deterministic serialization.
    entries = [_map_entry(name, values) for name, values in sorted(features.items())]
    columns, lengths = _delimited(1, *entries)
    # (batch, sum of widths), then flat
    content, is_used = (
        np.concatenate(matrices, axis=1).ravel()
        for matrices in zip(*columns, strict=True)
    )
    return split_items(np.compress(is_used, content).tobytes(), offsets_of(lengths))


def _map_entry(name, values):
    """Returns an entry of `Features.feature`, a map from name to `Feature`."""
    batch = len(values)
    values = values.reshape(batch, math.prod(values.shape[1:]))  # (batch, width)
    if values.dtype.kind == "f":
        content = np.ascontiguousarray(values, "<f4").view(np.uint8)
        feature = _delimited(2, _delimited(1, _used(content)))
    elif values.min(initial=0) < 0:
        raise ValueError(f"`{name}` must not be negative. Received: {values.min()}.")
    else:
        feature = _delimited(3, _delimited(1, _varints(values)))
    key = np.frombuffer(name.encode("ascii"), np.uint8)
    key = _used(np.broadcast_to(key, (batch, len(key))))
    return _delimited(1, _delimited(1, key), _delimited(2, feature))


def _delimited(field, *parts):
    """Returns a length-delimited field of number `field` that holds the parts."""
    length_delimited = 2
    lengths = sum(part.lengths for part in parts)
    tag = np.full((len(lengths), 1), field << 3 | length_delimited, np.uint8)
    prefix = (_used(tag), _varints(lengths[:, None]))
    columns = [column for part in (*prefix, *parts) for column in part.columns]
    return _Parts(columns, lengths + sum(part.lengths for part in prefix))


def _varints(values):
    """Returns integers `(batch, width)` in bytes: 7 bits, and whether one follows."""
    num_bytes = max(1, -(-int(values.max(initial=0)).bit_length() // 7))
    if num_bytes == 1:
        return _used(values.astype(np.uint8))
    batch, width = values.shape
    content = np.empty((batch, width, num_bytes), np.uint8)
    is_used = np.empty(content.shape, bool)
    is_needed = True
    for index in range(num_bytes):
        is_used[..., index] = is_needed
        is_needed = values > 0x7F
        byte = values.astype(np.uint8) & 0x7F
        content[..., index] = byte | is_needed.view(np.uint8) << 7
        values = values >> 7
    content = content.reshape(batch, width * num_bytes)
    is_used = is_used.reshape(batch, width * num_bytes)
    return _Parts([(content, is_used)], is_used.sum(axis=1))


def _used(content):
    """Returns bytes `(batch, width)` that are all used."""
    is_used = np.broadcast_to(True, content.shape)
    return _Parts([(content, is_used)], np.full(len(content), content.shape[1]))


def frame_record(payload):
    """Returns the record of a payload, bytes."""
    length = _LENGTH.pack(len(payload))
    return b"".join([length, _masked_crc32c(length), payload, _masked_crc32c(payload)])


def index_records(path):
    """Finds the runs of records in a TFRecord file without reading payloads.

    Returns a dict, ready for JSON: `examples`, the number of records; `bytes`, the file's
    size; `run_offsets`, where records 0, 4096, 8192, ... begin.

    Raises:
        ValueError: If the file is truncated or corrupt.
    """
    num_records, run_offsets = 0, []
    with open_file(path) as file:
        for start, _ in _find_records(file, path):
            if num_records % RUN_RECORDS == 0:
                run_offsets.append(start)
            num_records += 1
        size = file.seek(0, os.SEEK_END)
    return {"examples": num_records, "bytes": size, "run_offsets": run_offsets}


def read_records(path, offset=0, count=None):
    """Yields `count` payloads (default: all) from the record at byte `offset` on.

    Raises:
        ValueError: If the file is truncated or corrupt.
    """
    with open_file(path) as file:
        records = _find_records(file, path, offset)
        for start, length in itertools.islice(records, count):
            payload = file.read(length)
            if file.read(_CHECKSUM.size) != _masked_crc32c(payload):
                raise _damaged(path, start)
            yield payload


def _find_records(file, path, start=0):
    """Yields each record's start and payload length, with `file` at the payload."""
    size = file.seek(0, os.SEEK_END)
    while start < size:
        file.seek(start)
        header = file.read(_HEADER_SIZE)
        length, checksum = header[: _LENGTH.size], header[_LENGTH.size :]
        if len(header) < _HEADER_SIZE or checksum != _masked_crc32c(length):
            raise _damaged(path, start)
        (length,) = _LENGTH.unpack(length)
        end = start + length + _FRAME_SIZE
        if end > size:
            raise _damaged(path, start)
        yield start, length
        start = end


def _masked_crc32c(data):
    checksum = google_crc32c.value(data)
    return _CHECKSUM.pack(((checksum >> 15 | checksum << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def _damaged(path, start):
    return ValueError(
        f"A TFRecord file must be whole. Received: '{path}', truncated or corrupt at "
        f"byte {start}. Copy or write the file again."
    )
