"""Token store: tokenized documents on disk, in blocks that are read one by one.

The shard files of a store are blocks, end to end; `dataset.json` holds the offset of each
and the CRC-32C of its two parts. These are four 32-bit counts (documents, sentences,
tokens, bytes of a marked id), the number of sentences of each document and of tokens of
each sentence (32 bits each); and the marked ids of `Documents`.

Before the documents are shuffled they are in files of one block for each bucket, after a
table of what `dataset.json` would hold.
"""

import google_crc32c
import numpy as np

from albert_keras.checks import check_json
from albert_keras.pretraining.documents import Documents
from albert_keras.system.files import atomic_path, read_json, write_json
from albert_keras.system.storage import is_address, read_range, to_path
from albert_keras.tokenizers.ragged import offsets_of

_DESCRIPTION = "dataset.json"
_WORD = np.dtype("<u4")

# Of a block, in `dataset.json` and in the tables.
_COUNTS = ("num_documents", "num_sentences", "num_tokens")
_FIELDS = ("offset", "num_bytes", *_COUNTS, "lengths_checksum", "ids_checksum")
_TABLE = np.dtype([(name, "<i8") for name in _FIELDS])

# The form of the description of a store, as of `checks.check_json`.
_STORE = {
    "config": dict,
    "shards": {str: [dict.fromkeys(_FIELDS, int)]},
    "special_token_ids": [int],
    "vocabulary_size": int,
}
_RECORDS = {"config": dict, "shards": {str: {"bytes": int}}}


def write_description(folder, description):
    """Writes a dict as `dataset.json` beside the shards, whole or not at all."""
    write_json(to_path(folder) / _DESCRIPTION, description)


def read_description(folder):
    """Returns `dataset.json` of a folder as a dict; None without that file."""
    path = to_path(folder) / _DESCRIPTION
    try:
        # `is_file` of an address is false, too, while the network fails.
        description = read_json(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    check_json(description, _STORE if is_store(description) else _RECORDS, path)
    return description


def is_store(description):
    """Returns whether a `dataset.json`, or None, describes token ids."""
    return description is not None and description.get("kind") == "tokens"


def token_shard_path(folder, index, num_shards):
    """Returns the path of one shard, such as `documents-00003-of-00016.tokens`."""
    return to_path(folder) / f"documents-{index:05}-of-{num_shards:05}.tokens"


def write_token_shard(path, blocks, vocabulary_size):
    """Writes an iterable of `Documents`, a block each, whole or not at all.

    The vocabulary size decides whether a marked id takes 16 or 32 bits. Returns a list
    of one dict a block, for `dataset.json`.
    """
    descriptions, offset = [], 0
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        for documents in blocks:
            content, description = _serialize(documents, offset, vocabulary_size)
            descriptions.append(description)
            offset += file.write(content)
    return descriptions


def write_buckets(path, buckets, vocabulary_size):
    """Writes a list of `Documents`, one for each bucket, to a file for `read_bucket`."""
    contents, rows, offset = [], [], len(buckets) * _TABLE.itemsize
    for documents in buckets:
        content, description = _serialize(documents, offset, vocabulary_size)
        contents.append(content)
        rows.append(tuple(description.values()))
        offset += len(content)
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        file.writelines([np.array(rows, _TABLE).tobytes(), *contents])


def read_bucket(path, number):
    """Reads the `Documents` of a bucket; raises as `read_block`."""
    begin = number * _TABLE.itemsize
    row = np.frombuffer(_read(path, begin, begin + _TABLE.itemsize), _TABLE)
    return read_block(path, dict(zip(_FIELDS, row[0].tolist(), strict=True)))


def read_block(path, block, lengths_only=False):
    """Reads `Documents`, one block of a shard file, described in `dataset.json`.

    With `lengths_only` it does not read `marked_ids`, nine tenths of the block. Files on
    a disk are memory-mapped.

    Raises:
        ValueError: If the block is truncated or corrupt.
    """
    num_words = 4 + block["num_documents"] + block["num_sentences"]
    num_bytes = num_words * _WORD.itemsize
    num_read = num_bytes if lengths_only else block["num_bytes"]
    content = _read(path, block["offset"], block["offset"] + num_read)
    lengths, ids = content[:num_bytes], content[num_bytes:]
    is_whole = google_crc32c.value(lengths) == block["lengths_checksum"]
    if not lengths_only:
        is_whole &= google_crc32c.value(ids) == block["ids_checksum"]
    if not is_whole:
        raise _damaged(path, block["offset"])
    head = np.frombuffer(lengths, _WORD)
    of_documents, of_sentences = np.split(head[4:], [block["num_documents"]])
    marked_ids = np.frombuffer(ids, f"<u{head[3]}")
    return Documents(
        marked_ids.astype(np.int32), offsets_of(of_sentences), offsets_of(of_documents)
    )


def _serialize(documents, offset, vocabulary_size):
    """Returns a block's bytes, and what describes it where it begins at `offset`."""
    dtype = np.dtype("<u2" if 2 * vocabulary_size <= 2**16 else "<u4")
    counts = [getattr(documents, name) for name in _COUNTS]
    of_documents = np.diff(documents.document_offsets)
    of_sentences = np.diff(documents.sentence_offsets)
    lengths = np.concatenate([[*counts, dtype.itemsize], of_documents, of_sentences])
    parts = (
        lengths.astype(_WORD).tobytes(),
        documents.marked_ids.astype(dtype).tobytes(),
    )
    checksums = map(google_crc32c.value, parts)
    values = offset, sum(map(len, parts)), *counts, *checksums
    return b"".join(parts), dict(zip(_FIELDS, values, strict=True))


def _read(path, begin, end):
    """Returns the bytes of a file from `begin` to `end`; raises if there are fewer."""
    if is_address(path):
        content = read_range(path, begin, end)
    elif path.stat().st_size >= end:
        content = np.memmap(path, np.uint8, "r")[begin:end]
    else:
        content = b""
    if len(content) < end - begin:
        raise _damaged(path, begin)
    return content


def _damaged(path, begin):
    return ValueError(
        f"A token file must be whole. Received: '{path}', truncated or corrupt at byte "
        f"{begin}. Prepare the data again."
    )
