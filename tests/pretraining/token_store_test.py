"""Token store: round trip, blocks and damage."""

import json

import numpy as np
import pytest

from albert_keras.pretraining import token_store
from albert_keras.pretraining.documents import join_documents
from albert_keras.pretraining.token_store import (
    pack_documents,
    read_block,
    token_shard_path,
    unpack_documents,
    write_token_shard,
)
from tests.pretraining.random_documents import as_lists, draw_lengths, number_tokens

SMALL, LARGE = 2**15, 2**15 + 1


@pytest.fixture(scope="module")
def stored():
    """61 documents of 1 to 9 sentences of 1 to 14 tokens."""
    return number_tokens(draw_lengths(np.random.default_rng(5), 61, 9, (1, 14)))


def write(path, documents, vocabulary_size=SMALL):
    blocks = write_token_shard(path, pack_documents(documents), vocabulary_size)
    return json.loads(json.dumps(blocks))


def test_one_item_for_each_document(stored):
    items = pack_documents(stored)
    assert len(items) == 61
    assert as_lists(unpack_documents(items[::-1])) == as_lists(stored)[::-1]


def test_no_items():
    assert pack_documents(number_tokens([])) == []
    assert as_lists(unpack_documents([])) == []


@pytest.mark.parametrize(("vocabulary_size", "width"), [(SMALL, 2), (LARGE, 4)])
def test_round_trip(stored, tmp_path, vocabulary_size, width):
    # The last tokens of the vocabulary have the largest marked ids.
    marked_ids = 2 * vocabulary_size - 1 - stored.marked_ids
    documents = stored._replace(marked_ids=marked_ids)
    path = tmp_path / "documents.tokens"
    (block,) = write(path, documents, vocabulary_size=vocabulary_size)
    assert as_lists(read_block(path, block)) == as_lists(documents)
    counts = {"num_documents": 61, "num_sentences": documents.num_sentences}
    num_bytes = 4 * (4 + sum(counts.values())) + width * documents.num_tokens
    assert block == {
        "offset": 0,
        "num_bytes": num_bytes,
        **counts,
        "num_tokens": documents.num_tokens,
        "lengths_checksum": block["lengths_checksum"],
        "ids_checksum": block["ids_checksum"],
    }
    assert path.stat().st_size == num_bytes


@pytest.mark.parametrize(
    ("block_tokens", "num_blocks"),
    [(1, 30), (60, 28), (400, 6), (3_000, 1), (2**19, 1)],
)
def test_blocks_are_cut_between_documents(
    stored, tmp_path, monkeypatch, block_tokens, num_blocks
):
    monkeypatch.setattr(token_store, "BLOCK_TOKENS", block_tokens)
    path = tmp_path / "documents.tokens"
    blocks = write(path, stored)
    assert len(blocks) == num_blocks
    found = [read_block(path, block) for block in blocks]
    assert as_lists(join_documents(found)) == as_lists(stored)
    offsets = np.cumsum([0] + [block["num_bytes"] for block in blocks])
    assert [block["offset"] for block in blocks] == offsets[:-1].tolist()
    assert path.stat().st_size == offsets[-1]
    for documents in found[:-1]:
        *_, before, size = np.cumsum([len(i) // 4 for i in pack_documents(documents)])
        assert size >= block_tokens
        assert before < block_tokens or documents.num_documents == 2
    assert all(documents.num_documents >= 2 for documents in found)


@pytest.mark.parametrize(
    ("num_tokens", "blocks"),
    [
        ([], []),
        ([31], [1]),
        ([310], [1]),
        ([31, 310], [2]),
        ([310, 311], [2]),
        ([310, 311, 312], [3]),
        ([310, 311, 312, 5], [2, 2]),
        ([31, 32, 33, 34, 35], [3, 2]),
        ([1, 310, 2, 3, 311, 312, 313], [2, 3, 2]),
    ],
)
def test_no_block_of_a_single_document(tmp_path, monkeypatch, num_tokens, blocks):
    monkeypatch.setattr(token_store, "BLOCK_TOKENS", 100)
    documents = number_tokens([[number] for number in num_tokens])
    found = write(tmp_path / "documents.tokens", documents)
    assert [block["num_documents"] for block in found] == blocks


def broken(content, begin, stop):
    """Yields contents with damage from `begin` to `stop`."""
    for position in (begin, (begin + stop) // 2, stop - 1):
        changed = bytes([content[position] ^ 1])
        yield content[:position] + changed + content[position + 1 :]
        yield content[:position]


def test_damage(stored, tmp_path, monkeypatch):
    monkeypatch.setattr(token_store, "BLOCK_TOKENS", 900)
    path = tmp_path / "documents.tokens"
    first, second, third = write(path, stored)
    content = path.read_bytes()
    begin, stop = second["offset"], third["offset"]
    ids = begin + 4 * (4 + second["num_documents"] + second["num_sentences"])
    whole = [as_lists(read_block(path, block)) for block in (first, third)]
    message = (
        "must be whole. Received: '.*documents.tokens', truncated or corrupt at byte "
        f"{begin}. Prepare the data again"
    )
    for damaged in broken(content, begin, stop):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=message):
            read_block(path, second)
        assert as_lists(read_block(path, first)) == whole[0]
        if len(damaged) == len(content):
            assert as_lists(read_block(path, third)) == whole[1]
    for damaged in broken(content, begin, ids):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=message):
            read_block(path, second, lengths_only=True)


def test_reading_lengths_only(stored, tmp_path):
    path = tmp_path / "documents.tokens"
    (block,) = write(path, stored)
    content = path.read_bytes()
    ids = 4 * (4 + block["num_documents"] + block["num_sentences"])
    for damaged in (content, *broken(content, ids, len(content))):
        path.write_bytes(damaged)
        lengths = read_block(path, block, lengths_only=True)
        np.testing.assert_array_equal(lengths.sentence_offsets, stored.sentence_offsets)
        np.testing.assert_array_equal(lengths.document_offsets, stored.document_offsets)
        assert len(lengths.marked_ids) == 0


def test_a_failed_write_leaves_nothing(stored, tmp_path):
    def items():
        yield from pack_documents(stored)
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        write_token_shard(tmp_path / "documents.tokens", items(), SMALL)
    assert list(tmp_path.iterdir()) == []


def test_names_of_shards():
    path = token_shard_path("folder", 3, 16)
    assert (path.parent.name, path.name) == (
        "folder",
        "documents-00003-of-00016.tokens",
    )
