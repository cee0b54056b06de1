"""Token store: tokenized documents on disk, in blocks that are read one by one.

The shard files of a store are blocks, end to end; `dataset.json` holds the offset of each
and the CRC-32C of its two parts. These are four 32-bit counts (documents, sentences,
tokens, bytes of a marked id), the number of sentences of each document and of tokens of
each sentence (32 bits each); and the marked ids of `Documents`.

While documents are shuffled, each is an item, bytes: its number of sentences, their
lengths and its marked ids, 32 bits each.
"""

import google_crc32c
import numpy as np

from albert_keras.pretraining.documents import Documents
from albert_keras.pretraining.shuffling import split_items
from albert_keras.system.files import atomic_path
from albert_keras.system.storage import read_range, to_path
from albert_keras.tokenizers.ragged import offsets_of

# About 1 MB on disk, or a thousand examples of length 512.
BLOCK_TOKENS = 2**19

_WORD = np.dtype("<u4")


def token_shard_path(folder, index, num_shards):
    """Returns the path of one shard, such as `documents-00003-of-00016.tokens`."""
    return to_path(folder) / f"documents-{index:05}-of-{num_shards:05}.tokens"


def pack_documents(documents):
    """Returns a list of items of `Documents`."""
    lengths = np.diff(documents.sentence_offsets)
    sentence_bounds = documents.document_offsets
    token_bounds = documents.sentence_offsets[sentence_bounds]
    counts = np.diff(sentence_bounds)[:, np.newaxis]
    return [
        np.concatenate(parts, dtype=_WORD, casting="unsafe").tobytes()
        for parts in zip(
            counts,
            split_items(lengths, sentence_bounds),
            split_items(documents.marked_ids, token_bounds),
            strict=True,
        )
    ]


def unpack_documents(items):
    """Returns the `Documents` of items that `pack_documents` made."""
    nothing = np.empty(0, _WORD)
    counts, lengths, marked_ids = [], [nothing], [nothing]
    for item in items:
        words = np.frombuffer(item, _WORD)
        begin = 1 + int(words[0])
        counts.append(words[0])
        lengths.append(words[1:begin])
        marked_ids.append(words[begin:])
    return Documents(
        np.concatenate(marked_ids).astype(np.int32),
        offsets_of(np.concatenate(lengths)),
        offsets_of(counts),
    )


def write_token_shard(path, items, vocabulary_size):
    """Writes documents to one shard file, whole or not at all.

    A block ends with the document that brings it to `BLOCK_TOKENS`. Blocks have at least
    two documents where possible, because negatives come from another document.

    Items are in their final order; the vocabulary size decides whether a marked id takes
    16 or 32 bits. Returns a list of one dict a block, for `dataset.json`.
    """
    dtype = np.dtype("<u2" if 2 * vocabulary_size <= 2**16 else "<u4")
    blocks, offset = [], 0
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        for block in _cut_into_blocks(items):
            documents = unpack_documents(block)
            counts = {
                "num_documents": documents.num_documents,
                "num_sentences": documents.num_sentences,
                "num_tokens": documents.num_tokens,
            }
            head = [*counts.values(), dtype.itemsize]
            of_documents = np.diff(documents.document_offsets)
            of_sentences = np.diff(documents.sentence_offsets)
            lengths = np.concatenate([head, of_documents, of_sentences])
            lengths = lengths.astype(_WORD).tobytes()
            ids = documents.marked_ids.astype(dtype).tobytes()
            blocks.append(
                {
                    "offset": offset,
                    "num_bytes": len(lengths) + len(ids),
                    **counts,
                    "lengths_checksum": google_crc32c.value(lengths),
                    "ids_checksum": google_crc32c.value(ids),
                }
            )
            offset += file.write(lengths + ids)
    return blocks


def _cut_into_blocks(items):
    """Yields the list of items of each block."""
    # The last block is held back: one document left over is added to it.
    ready, block, num_bytes = [], [], 0
    for item in items:
        block.append(item)
        num_bytes += len(item)
        if len(block) >= 2 and num_bytes >= BLOCK_TOKENS * _WORD.itemsize:
            if ready:
                yield ready
            ready, block, num_bytes = block, [], 0
    if ready and len(block) == 1:
        ready, block = ready + block, []
    yield from filter(None, [ready, block])


def read_block(path, block, lengths_only=False):
    """Reads `Documents`, one block of a shard file, described in `dataset.json`.

    With `lengths_only` it does not read `marked_ids`, nine tenths of the block.

    Raises:
        ValueError: If the block is truncated or corrupt.
    """
    num_words = 4 + block["num_documents"] + block["num_sentences"]
    num_bytes = num_words * _WORD.itemsize
    num_read = num_bytes if lengths_only else block["num_bytes"]
    content = read_range(path, block["offset"], block["offset"] + num_read)
    lengths, ids = content[:num_bytes], content[num_bytes:]
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
