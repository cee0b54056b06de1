"""Tokenized documents on disk: token ids once, in blocks to be worked on one by one.

A store has shard files of blocks, one after the other; where each begins, and its
checksums, are told by `dataset.json`. A block is 32-bit counts (documents, sentences,
tokens, bytes of a marked id), then the sentences of each document and the tokens of
each sentence (32 bits each), then the marked ids of `Documents`.

On the way there, while documents are shuffled, each is an item of its own: its number
of sentences, their lengths and its marked ids, 32 bits each.
"""

import itertools
import pathlib

import google_crc32c
import numpy as np

from albert_keras.files import atomic_path
from albert_keras.pretraining.documents import Documents
from albert_keras.tokenizers.ragged import offsets_of

# About a megabyte on disk, and a thousand examples of length 512.
BLOCK_TOKENS = 2**19

_WORD = np.dtype("<u4")


def token_shard_path(folder, index, num_shards):
    """Returns the path of one shard, such as `documents-00003-of-00016.tokens`."""
    return pathlib.Path(folder, f"documents-{index:05}-of-{num_shards:05}.tokens")


def pack_documents(documents):
    """Makes an item of each document.

    Args:
        documents: `Documents`.

    Returns:
        Tuple of the items' bytes (uint8) and where each ends in them (int64).
    """
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
    """Returns the `Documents` that items are."""
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

    A block ends with the document that brings it to `BLOCK_TOKENS`. So that negatives
    have another document to come from, a rest of one document joins the block before.

    Args:
        path: str or path. Where the file shall stand.
        pieces: iterable of `(keys, blob, ends)`, items in their final order.
        vocabulary_size: int. Decides whether a marked id takes 16 bits or 32.

    Returns:
        List of a dict a block, for `dataset.json`: `offset` and `num_bytes` in the file,
        `num_documents`, `num_sentences`, `num_tokens`, `lengths_checksum` and
        `ids_checksum` (CRC-32C of what stands before the ids, and of the ids).
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
    """Yields `(blob, ends)` of whole blocks; the last one is held back for a rest."""
    block_bytes = BLOCK_TOKENS * _WORD.itemsize
    ready, rest = None, []
    for _, blob, ends in pieces:
        if not len(ends):
            continue
        rest.append((blob, ends))
        while sum(ends[-1] for _, ends in rest) >= block_bytes:
            blob, ends = _join_items(rest)
            count = 1 + int(np.searchsorted(ends, block_bytes))
            count = max(2, count)
            if count > len(ends):
                break
            if ready:
                yield ready
            stop = ends[count - 1]
            ready = blob[:stop], ends[:count]
            rest = [(blob[stop:], ends[count:] - stop)] if count < len(ends) else []
    if rest and ready and sum(len(ends) for _, ends in rest) == 1:
        ready, rest = _join_items([ready, *rest]), []
    if ready:
        yield ready
    if rest:
        yield _join_items(rest)


def _join_items(parts):
    blobs, ends = zip(*parts, strict=True)
    begins = offsets_of([part[-1] for part in ends])[:-1]
    joined = [part + begin for part, begin in zip(ends, begins, strict=True)]
    blobs = [np.frombuffer(blob, np.uint8) for blob in blobs]
    return np.concatenate(blobs), np.concatenate(joined)


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
        lengths_only: bool. Leaves out the ids, which are nine tenths of the block:
            enough to count examples.

    Returns:
        `Documents`; with `lengths_only` their `marked_ids` are empty.

    Raises:
        ValueError: If what is read is truncated or corrupt.
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
            "data anew."
        )
    head = np.frombuffer(lengths, _WORD)
    of_documents, of_sentences = np.split(head[4:], [block["num_documents"]])
    marked_ids = np.frombuffer(ids, f"<u{head[3]}")
    return Documents(
        marked_ids.astype(np.int32), offsets_of(of_sentences), offsets_of(of_documents)
    )
