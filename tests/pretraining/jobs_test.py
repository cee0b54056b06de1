"""Tasks of a preparation: documents once each, in a random order, counted."""

import dataclasses
import itertools
import json

import numpy as np
import pytest

from albert_keras.pretraining import jobs
from albert_keras.pretraining.documents import join_documents
from albert_keras.pretraining.examples import PretrainingDataConfig
from albert_keras.pretraining.jobs import Job
from albert_keras.pretraining.stream import StoredVocabulary
from albert_keras.pretraining.token_store import read_block, token_shard_path
from albert_keras.text.corpus import open_corpus
from albert_keras.tokenizers.ragged import offsets_of
from tests.pretraining.random_documents import as_lists

CONFIG = PretrainingDataConfig(sequence_length=61, seed=5)
NUM_DOCUMENTS, NUM_BUCKETS = 701, 7


class NumberEncoder(StoredVocabulary):
    """Encodes texts of numbers, which are the token ids; each is a word."""

    word_starts = np.ones(3_000, bool)

    def encode_ragged(self, texts):
        rows = [text.split() for text in texts]
        token_ids = np.array(list(itertools.chain(*rows))).astype(np.int32)
        return token_ids, offsets_of([len(row) for row in rows])


@pytest.fixture
def job(tmp_path, monkeypatch):
    """A job of 701 documents in seven buckets; a document repeats its number plus 5."""
    texts = [[f"{n} {n} {n} {n}"] * 4 for n in range(5, 5 + NUM_DOCUMENTS)]
    corpus = open_corpus(texts, part_bytes=5_000)
    size = -(-corpus.num_bytes // NUM_BUCKETS)
    monkeypatch.setattr(jobs, "_BUCKET_BYTES", size)
    monkeypatch.setattr(jobs, "BLOCK_TOKENS", 300)
    encoder = NumberEncoder(
        {"vocabulary_size": 3_000, "special_token_ids": [0, 1, 2, 3, 4]}
    )
    config = dataclasses.replace(CONFIG, sequence_length=19, short_sequence_prob=0.0)
    return Job(corpus, encoder, config, tmp_path, format="store")


def assert_neighbours_are_far_apart(numbers):
    """Checks that neighbours are on average a third of the whole apart."""
    places = np.argsort(numbers, kind="stable")
    gaps = np.abs(np.diff(places)) / len(places)
    # The distance of two random places has a deviation of 0.24.
    assert abs(gaps.mean() - 1 / 3) < 4 * 0.24 / np.sqrt(len(gaps))
    correlation = np.corrcoef(numbers, np.arange(len(numbers)))[0, 1]
    assert abs(correlation) < 4 / np.sqrt(len(numbers))


def test_each_document_is_drawn_once_from_the_whole_corpus(job):
    made = [jobs.tokenize_part(job, index) for index in range(len(job.corpus.parts))]
    files = [name for part in made for name in part["files"]]
    sizes = np.sum([part["num_documents"] for part in made], axis=0).tolist()
    assert len(job.corpus.parts) > 3
    assert (len(sizes), sum(sizes)) == (NUM_BUCKETS, NUM_DOCUMENTS)
    # Binomial: four deviations.
    assert np.abs(np.array(sizes) - 100).max() < 4 * np.sqrt(100)
    # In two shards, which share a bucket.
    shares = [(0, 0, sizes[0]), (1, 0, 17)], [(1, 17, sizes[1])]
    shares[1].extend((bucket, 0, sizes[bucket]) for bucket in range(2, NUM_BUCKETS))
    numbers = []
    for index, share in enumerate(shares):
        path = token_shard_path(job.folder, index, 2)
        blocks = jobs.shuffle_documents(job, (path, share, files))
        assert all(block["num_tokens"] < 500 for block in blocks)
        read = join_documents([read_block(path, block) for block in blocks])
        numbers += [document[0][0] // 2 - 5 for document in as_lists(read)]
    assert sorted(numbers) == list(range(NUM_DOCUMENTS))
    assert_neighbours_are_far_apart(numbers)


def test_counts_while_reading(tokenizer, tmp_path, monkeypatch):
    lines = ["One. Two.", " ", "Three", "", "Four. Five", " \n "]
    content = "".join(json.dumps({"text": line}) + "\n" for line in lines)
    path = tmp_path / "a.jsonl"
    path.write_bytes(content.replace("Five", "F\\ve").encode().replace(b"\\v", b"\xff"))
    for batch_characters, num_files in ((1, 4), (10_000, 1)):
        monkeypatch.setattr(jobs, "_BATCH_CHARACTERS", batch_characters)
        corpus = open_corpus(path, errors="replace")
        made = jobs.tokenize_part(
            Job(corpus, tokenizer.encoder, CONFIG, tmp_path, format="tfrecord"), 0
        )
        counts = made["counts"]
        assert len(made["files"]) == num_files
        assert counts["num_documents"] == 6
        assert counts["dropped_documents"] == {"no_tokens": 3, "one_sentence": 1}
        assert counts["replaced_bytes"] == 1
