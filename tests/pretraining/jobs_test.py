"""Tasks of a preparation: reproducible, complete, shuffled, without TensorFlow."""

import dataclasses
import itertools
import json
import shutil

import numpy as np
import pytest

from albert_keras.pretraining import jobs, token_store
from albert_keras.pretraining.documents import (
    join_documents,
    tokenize_documents,
)
from albert_keras.pretraining.examples import PretrainingDataConfig, cut_examples
from albert_keras.pretraining.jobs import Job, document_items, record_items
from albert_keras.pretraining.records import write_shard
from albert_keras.pretraining.report import PretrainingDataReport
from albert_keras.pretraining.shuffling import merge_runs, write_run
from albert_keras.pretraining.stream import ExampleStream, StoredVocabulary
from albert_keras.pretraining.tfrecord import index_records
from albert_keras.pretraining.token_store import (
    read_block,
    token_shard_path,
    unpack_documents,
    write_token_shard,
)
from albert_keras.text.corpus import open_corpus
from albert_keras.tokenizers.ragged import offsets_of
from tests.pretraining.random_documents import as_lists, original_ids
from tests.pretraining.record_folders import read_examples
from tests.pretraining.without_tensorflow import run_without_tensorflow

CONFIG = PretrainingDataConfig(sequence_length=61, seed=5)


@pytest.fixture(scope="module")
def job(documents, tokenizer, tmp_path_factory):
    corpus = open_corpus(documents, part_bytes=20_000)
    folder = tmp_path_factory.mktemp("job")
    return Job(corpus, tokenizer.encoder, CONFIG, folder, dynamic=False)


def tokenize_all(job):
    """Returns the items of all parts, as a list of `(keys, items, counts)`."""
    parts = range(len(job.corpus.parts))
    return [item for part in parts for item in document_items(job, part)]


def join(parts):
    """Returns keys, items and counts of a list of `(keys, items, counts)`."""
    keys, items, counts = zip(*parts, strict=True)
    report = PretrainingDataReport.of_counts(counts)
    return np.concatenate(keys).tolist(), list(itertools.chain(*items)), report


def test_tokenizing_all_parts(job, documents, tokenizer):
    assert len(job.corpus.parts) > 3
    keys, items, counts = join(tokenize_all(job))
    expected = tokenize_documents(documents, tokenizer.encoder)
    assert as_lists(unpack_documents(items)) == as_lists(expected)
    assert len({*keys}) == len(keys) == counts.num_documents == 83
    # Uniform over 64 bits: four standard errors.
    assert abs(np.mean(keys) / 2**64 - 0.5) < 4 * np.sqrt(1 / 12 / 83)
    assert counts.num_corpus_tokens == expected.num_tokens
    one_sentence = sum(len(document) == 1 for document in documents)
    assert counts.dropped_documents == {"no_tokens": 0, "one_sentence": one_sentence}


def test_items_do_not_depend_on_the_calls_of_the_encoder(job, monkeypatch):
    expected = join(tokenize_all(job))
    monkeypatch.setattr(jobs, "_BATCH_CHARACTERS", 700)
    items = tokenize_all(job)
    assert len(items) > 40
    assert join(items) == expected


def test_counts_while_reading(tokenizer, tmp_path, monkeypatch):
    lines = ["One. Two.", " ", "Three", "", "Four. Five", " \n "]
    content = "".join(json.dumps({"text": line}) + "\n" for line in lines)
    path = tmp_path / "a.jsonl"
    path.write_bytes(content.replace("Five", "F\\ve").encode().replace(b"\\v", b"\xff"))
    for batch_characters in (1, 10_000):
        monkeypatch.setattr(jobs, "_BATCH_CHARACTERS", batch_characters)
        corpus = open_corpus(path, errors="replace")
        made = Job(corpus, tokenizer.encoder, CONFIG, tmp_path, dynamic=False)
        counts = join(tokenize_all(made))[-1]
        assert counts.num_documents == 6
        assert counts.dropped_documents == {"no_tokens": 3, "one_sentence": 1}
        assert counts.replaced_bytes == 1


def test_records_of_a_block(job, documents, tokenizer, tmp_path):
    config = dataclasses.replace(CONFIG, short_sequence_prob=0.0)
    block = tokenize_documents(documents, tokenizer.encoder)
    made = dataclasses.replace(job, config=config)
    keys, items, counts = join(record_items(made, block, (2, 3), pass_index=1))
    num_examples = len(items)
    assert len({*keys}) == num_examples == counts.num_examples
    assert num_examples > 512
    path = tmp_path / "one.tfrecord"
    write_shard(path, items)
    examples = list(read_examples(path))
    arrays = {name: np.stack([e[name] for e in examples]) for name in examples[0]}
    assert len(examples) == num_examples
    assert counts.num_tokens == arrays["padding_mask"].sum()
    assert counts.label_counts["swapped"] == arrays["sop_label"].sum()
    assert counts.num_predictions == arrays["mask_weights"].sum()
    # Nearly all tokens of the block, and no token more often than there.
    found = np.bincount(original_ids(arrays).ravel(), minlength=331)[5:]
    expected = np.bincount(block.marked_ids >> 1, minlength=331)[5:]
    assert (found <= expected).all()
    assert 0.6 * expected.sum() < found.sum() < expected.sum()
    # Without random targets the skipped chunks do not depend on the draws.
    cut = cut_examples(block, np.random.default_rng(0), config)
    assert counts.num_skipped_chunks == cut.num_skipped > 0


def test_results_depend_on_seed_place_and_pass(job, documents, tokenizer):
    block = tokenize_documents(documents[:9], tokenizer.encoder)

    def make(place=(0, 0), pass_index=0, seed=5):
        config = dataclasses.replace(CONFIG, seed=seed)
        made = dataclasses.replace(job, config=config)
        return join(record_items(made, block, place, pass_index))[:2]

    made = [make(), make((0, 1)), make((1, 0)), make(pass_index=1), make(seed=6)]
    assert len({b"".join(items) for _, items in made}) == len(made)
    assert len({tuple(keys) for keys, _ in made}) == len(made)
    assert make() == made[0]
    other = dataclasses.replace(job, config=dataclasses.replace(CONFIG, seed=6))
    assert join(tokenize_all(other))[0] != join(tokenize_all(job))[0]


def test_block_without_examples(job, tokenizer):
    block = tokenize_documents([["one"], ["two"]], tokenizer.encoder)
    keys, items, counts = join(record_items(job, block, (0, 0), pass_index=0))
    assert (keys, items) == ([], [])
    assert (counts.num_examples, counts.num_skipped_chunks) == (0, 2)


class NumberEncoder(StoredVocabulary):
    """Encodes texts of numbers, which are the token ids; each is a word."""

    word_starts = np.ones(3_000, bool)

    def encode_ragged(self, texts):
        rows = [text.split() for text in texts]
        token_ids = np.array(list(itertools.chain(*rows))).astype(np.int32)
        return token_ids, offsets_of([len(row) for row in rows])


NUMBERS = NumberEncoder(3_000, [0, 1, 2, 3, 4])
NUM_DOCUMENTS = 701


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A store, shuffled as in a job; a document repeats its number plus 5.

    Returns:
        Tuple of the job, the folder and the description.
    """
    folder = tmp_path_factory.mktemp("store")
    texts = [[f"{n} {n} {n} {n}"] * 4 for n in range(5, 5 + NUM_DOCUMENTS)]
    config = PretrainingDataConfig(sequence_length=19, short_sequence_prob=0.0)
    corpus = open_corpus(texts, part_bytes=5_000)
    job = Job(corpus, NUMBERS, config, folder, dynamic=True)
    for number, item in enumerate(tokenize_all(job)):
        write_run(folder / f"{number}.run", *item[:2])
    runs = sorted(folder.glob("*.run"))
    shards = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(token_store, "BLOCK_TOKENS", 1_500)
        for index in range(2):
            path = token_shard_path(folder, index, 2)
            items = merge_runs(runs, index, 2, 1)
            shards[path.name] = write_token_shard(
                path, items, NUMBERS.vocabulary_size()
            )
    return (
        job,
        folder,
        {
            "vocabulary_size": NUMBERS.vocabulary_size(),
            "special_token_ids": NUMBERS.special_token_ids,
            "shards": shards,
        },
    )


def numbers_of(arrays):
    """Returns the document of each example."""
    return original_ids(arrays)[:, 1] - 5


def assert_neighbours_are_far_apart(numbers):
    """Checks that neighbours are on average a third of the whole apart."""
    places = np.argsort(numbers, kind="stable")
    gaps = np.abs(np.diff(places)) / len(places)
    # The distance of two random places has a deviation of 0.24.
    assert abs(gaps.mean() - 1 / 3) < 4 * 0.24 / np.sqrt(len(gaps))
    correlation = np.corrcoef(numbers, np.arange(len(numbers)))[0, 1]
    assert abs(correlation) < 4 / np.sqrt(len(numbers))


def test_neighbours_are_far_apart_in_the_store(store):
    _, folder, description = store
    blocks = [
        read_block(folder / name, block)
        for name, blocks in description["shards"].items()
        for block in blocks
    ]
    assert len(blocks) > 6
    stored = [d[0][0] // 2 - 5 for d in as_lists(join_documents(blocks))]
    assert sorted(stored) == list(range(NUM_DOCUMENTS))
    assert_neighbours_are_far_apart(np.array(stored))


def test_neighbours_are_far_apart_in_each_epoch(store):
    job, folder, description = store
    made = ExampleStream(folder, description, job.config, seed=3)
    start = 0
    for epoch in range(2):
        size = made.count_examples(epoch)
        numbers = numbers_of(next(made.batches(size, start)))
        assert {*numbers.tolist()} == {*range(NUM_DOCUMENTS)}
        assert_neighbours_are_far_apart(numbers)
        start += size


def test_neighbours_are_far_apart_in_records(store, tmp_path):
    job, folder, description = store
    for shard, (name, blocks) in enumerate(description["shards"].items()):
        for index, block in enumerate(blocks):
            documents = read_block(folder / name, block)
            for number in range(3):
                (item,) = record_items(job, documents, (shard, index), number)
                write_run(tmp_path / f"{shard}-{index}-{number}.run", *item[:2])
    runs = sorted(tmp_path.glob("*.run"))
    path = tmp_path / "all.tfrecord"
    write_shard(path, merge_runs(runs, 0, 1, 1))
    examples = list(read_examples(path))
    arrays = {name: np.stack([e[name] for e in examples]) for name in examples[0]}
    numbers = numbers_of(arrays)
    assert np.bincount(numbers, minlength=NUM_DOCUMENTS).min() >= 3
    assert_neighbours_are_far_apart(numbers)


_RECORDS = """
from albert_keras.pretraining import jobs
from albert_keras.pretraining.token_store import unpack_documents
for job in given:
    for part in range(len(job.corpus.parts)):
        for _, items, _ in jobs.document_items(job, part):
            documents = unpack_documents(items)
            for _, records, _ in jobs.record_items(job, documents, (0, part), 7):
                sys.stdout.buffer.writelines(records)
"""


def test_workers_need_neither_tensorflow_nor_keras(job):
    given = [
        dataclasses.replace(job, config=dataclasses.replace(CONFIG, packing=packing))
        for packing in ("padded", "filled")
    ]
    done = run_without_tensorflow(_RECORDS, given, "-W", "error")
    assert done.stderr == b""
    expected = b""
    for one, part in itertools.product(given, range(len(job.corpus.parts))):
        for _, items, _ in document_items(one, part):
            documents = unpack_documents(items)
            records = record_items(one, documents, (0, part), 7)
            expected += b"".join(record for _, items, _ in records for record in items)
    assert done.stdout == expected
    assert len(expected) > 200_000


# === Files ===

SMALL = PretrainingDataConfig(sequence_length=53, dupe_factor=3, num_shards=4, seed=2)


@pytest.fixture
def make_job(documents, tokenizer, tmp_path):
    corpus = open_corpus(documents, part_bytes=11_000)

    def make(name, dynamic=False):
        return Job(corpus, tokenizer.encoder, SMALL, tmp_path / name, dynamic)

    return make


def run_all(job):
    """Runs all tasks of a job; returns its report and the names of all run files."""
    tokenized = [jobs.tokenize_part(job, i) for i in range(len(job.corpus.parts))]
    num_runs, made = sum(part["num_runs"] for part in tokenized), []
    runs = job.runs("documents", num_runs)
    for shard in range(job.num_token_shards):
        for index, block in enumerate(
            jobs.shuffle_documents(job, (shard, 0, num_runs))
        ):
            task = ((shard, index), block, range(SMALL.dupe_factor))
            made.append(jobs.make_block(job, task))
    num_runs = sum(part["num_runs"] for part in made)
    runs += job.runs("examples", num_runs)
    for index in range(SMALL.num_shards):
        jobs.shuffle_records(job, (index, num_runs))
    counts = [part["counts"] for part in tokenized + made]
    return PretrainingDataReport.of_counts(counts), [path.name for path in runs]


def content(job):
    return [path.read_bytes() for path in job.shards]


def test_counts_equal_the_records(make_job, documents):
    job = make_job("one")
    report, _ = run_all(job)
    assert report.num_documents == len(documents)
    written = sum(index_records(path)["examples"] for path in job.shards)
    assert written == report.num_examples > 100


def test_tasks_can_be_repeated(make_job):
    job = make_job("one")
    _, runs = run_all(job)
    expected = content(job)
    assert run_all(job)[1] == runs
    assert content(job) == expected


def test_a_late_task_writes_no_shard_without_some_run_files(make_job):
    job = make_job("one")
    run_all(job)
    expected, num_runs = job.token_shard(0).read_bytes(), len(job.corpus.parts)
    message = "There must be {} sorted files, and {} are found. Repeat the call; if"
    for wanted in (num_runs - 1, num_runs + 1):
        found = message.format(wanted, num_runs)
        with pytest.raises(FileNotFoundError, match=found):
            jobs.shuffle_documents(job, (0, 0, wanted))
    assert job.token_shard(0).read_bytes() == expected


def test_result_does_not_depend_on_run_files(make_job, monkeypatch):
    few = make_job("few")
    _, few_runs = run_all(few)
    monkeypatch.setattr(jobs, "_RUN_BYTES", 4_099)
    many = make_job("many")
    _, many_runs = run_all(many)
    assert len(many_runs) > len(few_runs)
    assert content(many) == content(few)


def test_counts_of_a_token_store(make_job):
    job = make_job("store", dynamic=True)
    made = [jobs.tokenize_part(job, i) for i in range(len(job.corpus.parts))]
    num_runs = sum(part["num_runs"] for part in made)
    (block,) = jobs.shuffle_documents(job, (0, 0, num_runs))
    task = ((0, 0), block, range(1))
    counted = jobs.make_block(job, task)
    assert counted["counts"]["num_examples"] > 30
    assert job.runs("examples", counted["num_runs"]) == []
    static = dataclasses.replace(job, dynamic=False)
    static.token_shard(0).parent.mkdir()
    shutil.copy(job.token_shard(0), static.token_shard(0))
    assert jobs.make_block(static, task) == {**counted, "num_runs": 1}
    assert len(job.runs("examples", 1)) == 1
    assert job.shards == [job.token_shard(0)]
    job.delete_all()
    assert not job.work.exists()
    assert not job.token_shard(0).exists()
