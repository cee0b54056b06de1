"""Tasks of a preparation: documents once each, in a random order, counted."""

import dataclasses
import itertools
import json

import numpy as np
import pytest

from albert_keras.pretraining import jobs
from albert_keras.pretraining.documents import join_documents, tokenize_documents
from albert_keras.pretraining.examples import PretrainingDataConfig
from albert_keras.pretraining.jobs import Job
from albert_keras.pretraining.stream import StoredVocabulary
from albert_keras.pretraining.token_store import (
    read_block,
    read_bucket,
    token_shard_path,
)
from albert_keras.text.corpus import open_corpus
from albert_keras.tokenizers.ragged import offsets_of
from tests.pretraining.random_documents import as_lists
from tests.pretraining.record_folders import read_examples

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


def tokenize_all(job):
    """Returns the names of the files of all parts, and the documents of each bucket."""
    made = [jobs.tokenize_part(job, index) for index in range(len(job.corpus.parts))]
    files = [name for part in made for name in part["files"]]
    return files, np.sum([part["num_documents"] for part in made], axis=0).tolist()


def shuffle(job, files, pieces):
    """Returns the shard of some pieces, and the number of each of its documents."""
    path = token_shard_path(job.folder, 0, 1)
    blocks = jobs.shuffle_documents(job, (path, pieces, files))
    assert all(block["num_tokens"] < 500 for block in blocks)
    documents = [read_block(path, block) for block in blocks]
    numbers = [d[0][0] // 2 - 5 for d in as_lists(join_documents(documents))]
    return {path.name: blocks}, numbers


def assert_neighbours_are_far_apart(numbers):
    """Checks that neighbours are on average a third of the whole apart."""
    places = np.argsort(numbers, kind="stable")
    gaps = np.abs(np.diff(places)) / len(places)
    # The distance of two random places has a deviation of 0.24.
    assert abs(gaps.mean() - 1 / 3) < 4 * 0.24 / np.sqrt(len(gaps))
    correlation = np.corrcoef(numbers, np.arange(len(numbers)))[0, 1]
    assert abs(correlation) < 4 / np.sqrt(len(numbers))


def test_each_document_is_drawn_once_from_the_whole_corpus(job):
    files, sizes = tokenize_all(job)
    assert len(job.corpus.parts) > 3
    assert (len(sizes), sum(sizes)) == (NUM_BUCKETS, NUM_DOCUMENTS)
    # Binomial: four deviations.
    assert np.abs(np.array(sizes) - 100).max() < 4 * np.sqrt(100)
    pieces = [(bucket, 0, size) for bucket, size in enumerate(sizes)]
    shards, numbers = shuffle(job, files, pieces)
    assert sorted(numbers) == list(range(NUM_DOCUMENTS))
    assert_neighbours_are_far_apart(numbers)
    # The stream shuffles again.
    stream = job.open_stream(job.folder, shards)
    arrays = next(stream.batches(10_000, stop=stream.count_examples()))
    assert_neighbours_are_far_apart(arrays["mask_ids"][:, 0] - 5)


def test_pieces_of_a_bucket_are_those_of_its_permutation(job):
    files, sizes = tokenize_all(job)
    whole = shuffle(job, files, [(3, 0, sizes[3])])[1]
    parts = [shuffle(job, files, [(3, *part)])[1] for part in ((0, 17), (17, sizes[3]))]
    assert parts[0] + parts[1] == whole
    path = token_shard_path(job.folder, 1, 2)
    assert jobs.shuffle_documents(job, (path, [(3, 8, 8), (4, 0, 0)], files)) == []
    again = dataclasses.replace(job, config=dataclasses.replace(job.config, seed=6))
    assert shuffle(again, files, [(3, 0, sizes[3])])[1] != whole
    # A task can be repeated.
    assert tokenize_all(job) == (files, sizes)
    assert shuffle(job, files, [(3, 0, sizes[3])])[1] == whole


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


def test_tokens_are_those_of_the_text(documents, tokenizer, tmp_path):
    corpus = open_corpus(documents, part_bytes=20_000)
    job = Job(corpus, tokenizer.encoder, CONFIG, tmp_path, format="store")
    files, sizes = tokenize_all(job)
    folder = job.work / "documents"
    found = join_documents([read_bucket(folder / name, 0) for name in files])
    assert as_lists(found) == as_lists(tokenize_documents(documents, job.encoder))
    assert sizes == [83]


def test_record_files_are_slices_of_the_stream(job, tmp_path):
    job = dataclasses.replace(job, format="tfrecord")
    files, sizes = tokenize_all(job)
    path = token_shard_path(job.store, 0, 1)
    pieces = [(bucket, 0, size) for bucket, size in enumerate(sizes)]
    shards = {path.name: jobs.shuffle_documents(job, (path, pieces, files))}
    counted = [jobs.count_windows(job, (epoch, shards)) for epoch in range(2)]
    windows = [size for epoch in counted for size in epoch["sizes"]]
    assert len(windows) > 5
    total = sum(windows)
    bounds = [0, 211, 212, 1_000, total]
    written = [
        jobs.write_examples(job, (tmp_path / f"{begin}", begin, end, shards, windows))
        for begin, end in itertools.pairwise(bounds)
    ]
    found = [e for begin in bounds[:-1] for e in read_examples(tmp_path / f"{begin}")]
    (expected,) = job.open_stream(job.store, shards).batches(total, stop=total)
    for name, values in expected.items():
        np.testing.assert_array_equal([e[name] for e in found], values)
    assert [part["num_examples"] for part in written] == np.diff(bounds).tolist()
    # Each n-gram is counted once.
    whole = jobs.count_stream(job, (job.store, shards))
    first = sum(counted[0]["sizes"])
    once = jobs.write_examples(job, (tmp_path / "once", 0, first, shards, windows))
    skipped = counted[0]["counts"]["num_skipped_chunks"]
    assert whole == {**once, "num_skipped_chunks": skipped}
    assert sum(part["run_counts"][0] for part in written) > once["run_counts"][0]
