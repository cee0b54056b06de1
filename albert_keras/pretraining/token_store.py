"""Token store: tokenized documents on disk, in blocks that are read one by one.

The shard files of a store are blocks, end to end; `dataset.json` holds the offset of each
and the CRC-32C of its two parts. These are four 32-bit counts (documents, sentences,
tokens, bytes of a marked id), the number of sentences of each document and of tokens of
each sentence (32 bits each); and the marked ids of `Documents`.

While documents are shuffled, each is an item: its number of sentences, their lengths and
its marked ids, 32 bits each.
"""

import itertools
import pathlib

import google_crc32c
import numpy as np

from albert_keras.files import atomic_path
from albert_keras.pretraining.documents import Documents
from albert_keras.pretraining.shuffling import join_items
from albert_keras.tokenizers.ragged import offsets_of

# About 1 MB on disk, or a thousand examples of length 512.
BLOCK_TOKENS = 2**19

_WORD = np.dtype("<u4")


def token_shard_path(folder, index, num_shards):
    """Returns the path of one shard, such as `documents-00003-of-00016.tokens`."""
    return pathlib.Path(folder, f"documents-{index:05}-of-{num_shards:05}.tokens")


def pack_documents(documents):
    """Returns `Documents` as items: their bytes (uint8) and the end of each (int64)."""
    lengths = np.diff(documents.sentence_offsets).astype(_WORD)
    marked_ids = documents.marked_ids.astype(_WORD)
    sentence_bounds = documents.document_offsets.tolist()
    token_bounds = documents.sentence_offsets[documents.document_offsets].tolist()
    pieces = []
    for index in range(documents.num_documents):
        begin, end = sentence_bounds[index : index + 2]
        first, last = token_bounds[index : index + 2]
        pieces += [[end - begin], lengths[begin:end], marked_ids[first:last]]
    words = np.concatenate(pieces).astype(_WORD) if pieces else np.empty(0, _WORD)
    sizes = 1 + np.diff(sentence_bounds) + np.diff(token_bounds)
    return words.view(np.uint8), offsets_of(_WORD.itemsize * sizes)[1:]


def unpack_documents(blob, ends):
    """Returns the `Documents` of items that `pack_documents` made."""
    words = np.frombuffer(blob, _WORD)
    bounds = [0, *(np.asarray(ends) // _WORD.itemsize).tolist()]
    counts, lengths, marked_ids = [], [words[:0]], [words[:0]]
    for begin, end in itertools.pairwise(bounds):
        count = int(words[begin])
        counts.append(count)
        lengths.append(words[begin + 1 : begin + 1 + count])
        marked_ids.append(words[begin + 1 + count : end])
    return Documents(
        np.concatenate(marked_ids).astype(np.int32),
        offsets_of(np.concatenate(lengths)),
        offsets_of(counts),
    )


def write_token_shard(path, pieces, vocabulary_size):
    """Writes documents to one shard file, whole or not at all.

    A block ends with the document that brings it to `BLOCK_TOKENS`. Blocks have at least
    two documents where possible, because negatives come from another document.

    Args:
        path: str or path.
        pieces: iterable of `(keys, blob, ends)`, items in their final order.
        vocabulary_size: int. Decides whether a marked id takes 16 or 32 bits.

    Returns:
        List of one dict a block, for `dataset.json`.
    """
    dtype = np.dtype("<u2" if 2 * vocabulary_size <= 2**16 else "<u4")
    blocks, offset = [], 0
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        for blob, ends in _cut_into_blocks(pieces):
            documents = unpack_documents(blob, ends)
            lengths, ids = _serialize(documents, dtype)
            file.write(lengths + ids)
            blocks.append(
                {
                    "offset": offset,
                    "num_bytes": len(lengths) + len(ids),
                    "num_documents": documents.num_documents,
                    "num_sentences": documents.num_sentences,
                    "num_tokens": documents.num_tokens,
                    "lengths_checksum": google_crc32c.value(lengths),
                    "ids_checksum": google_crc32c.value(ids),
                }
            )
            offset += blocks[-1]["num_bytes"]
    return blocks


def _cut_into_blocks(pieces):
    """Yields `(blob, ends)` of each block."""
    block_bytes = BLOCK_TOKENS * _WORD.itemsize
    nothing = np.empty(0, np.int64)
    keys, blob, ends = nothing, b"", nothing
    # The last block is held back: one document left over is added to it.
    ready = None
    for piece in pieces:
        keys, blob, ends = join_items([(keys, blob, ends), piece])
        blob = memoryview(blob)
        while len(ends) >= 2 and ends[-1] >= block_bytes:
            count = max(2, 1 + int(np.searchsorted(ends, block_bytes)))
            if ready:
                yield ready
            stop = ends[count - 1]
            ready = blob[:stop], ends[:count]
            keys, blob, ends = keys[count:], blob[stop:], ends[count:] - stop
    if ready and len(ends) == 1:
        _, *ready = join_items([(nothing, *ready), (keys, blob, ends)])
        ends = nothing
    if ready:
        yield ready
    if len(ends):
        yield blob, ends


def _serialize(documents, dtype):
    counts = (documents.num_documents, documents.num_sentences, documents.num_tokens)
    head = [
        np.array([*counts, dtype.itemsize]),
        np.diff(documents.document_offsets),
        np.diff(documents.sentence_offsets),
    ]
    lengths = np.concatenate(head).astype(_WORD)
    return lengths.tobytes(), documents.marked_ids.astype(dtype).tobytes()


def read_block(path, block, lengths_only=False):
    """Reads one block of a store.

    Args:
        path: str or path of the shard file.
        block: dict of the block, from `dataset.json`.
        lengths_only: bool. Does not read the ids, nine tenths of the block, which
            counting examples does not need.

    Returns:
        `Documents`; with `lengths_only` their `marked_ids` are empty.

    Raises:
        ValueError: If the block is truncated or corrupt.
    """
    num_words = 4 + block["num_documents"] + block["num_sentences"]
    num_bytes = num_words * _WORD.itemsize
    with open(path, "rb") as file:
        file.seek(block["offset"])
        lengths = file.read(num_bytes)
        ids = b"" if lengths_only else file.read(block["num_bytes"] - num_bytes)
    is_whole = google_crc32c.value(lengths) == block["lengths_checksum"]
    if not lengths_only:
        is_whole &= google_crc32c.value(ids) == block["ids_checksum"]
    if not is_whole:
        raise ValueError(
            "A token file must be whole. Received: "
            f"'{path}', truncated or corrupt at byte {block['offset']}. Prepare the "
            "data again."
        )
    head = np.frombuffer(lengths, _WORD)
    of_documents, of_sentences = np.split(head[4:], [block["num_documents"]])
    marked_ids = np.frombuffer(ids, f"<u{head[3]}")
    return Documents(
        marked_ids.astype(np.int32), offsets_of(of_sentences), offsets_of(of_documents)
    )
