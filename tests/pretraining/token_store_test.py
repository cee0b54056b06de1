"""Token store: round trip, blocks and damage."""

import json

import numpy as np
import pytest

from albert_keras.pretraining.documents import take_documents
from albert_keras.pretraining.token_store import (
    is_store,
    read_block,
    read_bucket,
    read_description,
    write_buckets,
    write_description,
    write_token_shard,
)
from tests.pretraining.random_documents import as_lists, draw_lengths, number_tokens

SMALL, LARGE = 2**15, 2**15 + 1


@pytest.fixture(scope="module")
def stored():
    """61 documents of 1 to 9 sentences of 1 to 14 tokens."""
    return number_tokens(draw_lengths(np.random.default_rng(5), 61, 9, (1, 14)))


def write(path, documents, vocabulary_size=SMALL, num_blocks=1):
    blocks = divide(documents, num_blocks)
    return json.loads(json.dumps(write_token_shard(path, blocks, vocabulary_size)))


def divide(documents, num_blocks):
    numbers = np.array_split(np.arange(documents.num_documents), num_blocks)
    return [take_documents(documents, of_block) for of_block in numbers]


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


def test_blocks_and_buckets_are_read_one_by_one(stored, tmp_path):
    expected = [as_lists(documents) for documents in divide(stored, 7)]
    path = tmp_path / "documents.tokens"
    found = [
        as_lists(read_block(path, block)) for block in write(path, stored, num_blocks=7)
    ]
    assert found == expected
    # Some buckets are empty.
    buckets = [number_tokens([]), *divide(stored, 7), number_tokens([])]
    write_buckets(tmp_path / "buckets", buckets, SMALL)
    for number in reversed(range(9)):
        read = as_lists(read_bucket(tmp_path / "buckets", number))
        assert read == ([] if number in (0, 8) else expected[number - 1])


def broken(content, begin, stop):
    """Yields contents with damage from `begin` to `stop`."""
    for position in (begin, (begin + stop) // 2, stop - 1):
        changed = bytes([content[position] ^ 1])
        yield content[:position] + changed + content[position + 1 :]
        yield content[:position]


def test_damage(stored, tmp_path):
    path = tmp_path / "documents.tokens"
    first, second, third = write(path, stored, num_blocks=3)
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
    # Ids are not read with the lengths only.
    expected = divide(stored, 3)[1]
    for damaged in (content, *broken(content, ids, stop)):
        path.write_bytes(damaged)
        lengths = read_block(path, second, lengths_only=True)
        np.testing.assert_array_equal(lengths[1], expected.sentence_offsets)
        np.testing.assert_array_equal(lengths[2], expected.document_offsets)
        assert len(lengths.marked_ids) == 0


def test_descriptions(tmp_path):
    assert read_description(tmp_path) is None
    write_description(tmp_path, {"kind": "records", "config": {}, "shards": {}})
    assert not is_store(read_description(tmp_path))
    blocks = [dict.fromkeys(write(tmp_path / "a.tokens", number_tokens([[1]]))[0], 3)]
    whole = {
        "kind": "tokens",
        "config": {},
        "shards": {"a.tokens": blocks},
        "special_token_ids": [3, 0, 4, 2, 1],
        "vocabulary_size": 53,
    }
    write_description(tmp_path, whole)
    assert is_store(read_description(tmp_path))
    for wrong in (
        {"vocabulary_size": "53"},
        {"special_token_ids": [0.5]},
        {"shards": {"a.tokens": [{"offset": 0}]}},
        {"config": None},
    ):
        write_description(tmp_path, {**whole, **wrong})
        with pytest.raises(ValueError, match=r"dataset.json"):
            read_description(tmp_path)
