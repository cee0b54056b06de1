"""Token store: tokenized documents on disk, in blocks that are read one by one.

A shard file is a sequence of blocks. `dataset.json` has the offset of each block, and the
CRC-32C checksums of its two parts. The first part consists of 32-bit numbers: the counts
of documents, sentences and tokens, the bytes of a marked id, the number of sentences of
each document, and the number of tokens of each sentence. The second part consists of the
marked ids of `Documents`.

Before the documents are shuffled, they are in files with one block for each bucket,
beside a table of the descriptions of these blocks.
"""

import google_crc32c
import numpy as np

from albert_keras.checks import check_json
from albert_keras.pretraining.documents import Documents
from albert_keras.system.files import atomic_path, read_json, write_json
from albert_keras.system.storage import read_range
from albert_keras.tokenizers.ragged import offsets_of

_DESCRIPTION = "dataset.json"
_WORD = np.dtype("<u4")

# Description of a block, in `dataset.json` and in tables of buckets.
_COUNTS = ("num_documents", "num_sentences", "num_tokens")
_FIELDS = ("offset", "num_bytes", *_COUNTS, "lengths_checksum", "ids_checksum")
_TABLE = np.dtype([(name, "<i8") for name in _FIELDS])

# Templates of the descriptions, see `checks.check_json`.
_STORE = {
    "config": dict,
    "shards": {str: [dict.fromkeys(_FIELDS, int)]},
    "special_token_ids": [int],
    "vocabulary_size": int,
}
_RECORDS = {"config": dict, "shards": {str: {"bytes": int}}}


def write_description(folder, description):
    """Writes a dict as `dataset.json` to the folder of the shards, atomically."""
    write_json(folder / _DESCRIPTION, description)


def read_description(folder):
    """Returns the `dataset.json` of a folder as a dict, or `None` without that file.

    The folder is a str or a path, and may be an address.
    """
    path = f"{folder}/{_DESCRIPTION}"
    try:
        # Not `is_file`, which is also false if the network fails.
        description = read_json(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    check_json(description, _STORE if is_store(description) else _RECORDS, path)
    return description


def is_store(description):
    """Returns whether a `dataset.json` (or `None`) describes a token store."""
    return description is not None and description.get("kind") == "tokens"


def token_shard_path(folder, index, num_shards):
    """Returns the path of a shard, such as `documents-00003-of-00016.tokens`."""
    return folder / f"documents-{index:05}-of-{num_shards:05}.tokens"


def write_token_shard(path, blocks, vocabulary_size):
    """Writes an iterable of `Documents` atomically, each as a block.

    The vocabulary size determines whether a marked id takes 16 or 32 bits.

    Returns:
        List of descriptions of the blocks, for `dataset.json`.
    """
    descriptions, offset = [], 0
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        for documents in blocks:
            content, description = _serialize(documents, offset, vocabulary_size)
            descriptions.append(description)
            offset += file.write(content)
    return descriptions


def write_buckets(path, buckets, vocabulary_size):
    """Writes a list of `Documents`, one for each bucket, for `read_bucket`."""
    blocks = write_token_shard(path, buckets, vocabulary_size)
    table = np.array([tuple(block.values()) for block in blocks], _TABLE)
    with atomic_path(f"{path}.table") as temporary:
        temporary.write_bytes(table.tobytes())


def read_bucket(path, number):
    """Reads the `Documents` of a bucket; raises errors as `read_block`."""
    begin = number * _TABLE.itemsize
    row = np.frombuffer(_read(f"{path}.table", begin, begin + _TABLE.itemsize), _TABLE)
    return read_block(path, dict(zip(_FIELDS, row[0].tolist(), strict=True)))


def read_block(path, block, lengths_only=False):
    """Reads a block of a shard file as `Documents`, given its description.

    With `lengths_only` it does not read `marked_ids`, nine tenths of the block.

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
    """Returns the bytes of a block, and its description if it begins at `offset`."""
    dtype = np.dtype("<u2" if 2 * vocabulary_size <= 2**16 else "<u4")
    counts = [getattr(documents, name) for name in _COUNTS]
    of_documents = np.diff(documents.document_offsets)
    of_sentences = np.diff(documents.sentence_offsets)
    lengths = np.concatenate([[*counts, dtype.itemsize], of_documents, of_sentences])
    arrays = lengths.astype(_WORD), documents.marked_ids.astype(dtype)
    parts = [array.tobytes() for array in arrays]
    checksums = map(google_crc32c.value, parts)
    values = offset, sum(map(len, parts)), *counts, *checksums
    return b"".join(parts), dict(zip(_FIELDS, values, strict=True))


def _read(path, begin, end):
    """Returns the bytes of a file from `begin` to `end`; raises if there are fewer."""
    content = read_range(path, begin, end)
    if len(content) < end - begin:
        raise _damaged(path, begin)
    return content


def _damaged(path, begin):
    return ValueError(
        f"A token file must be whole. Received: '{path}', truncated or corrupt at byte "
        f"{begin}. Prepare the data again."
    )
