"""Tasks of a preparation: their files, also when they are repeated."""

import pytest

from albert_keras.pretraining import jobs
from albert_keras.pretraining.examples import PretrainingDataConfig
from albert_keras.pretraining.jobs import Job
from albert_keras.pretraining.report import PretrainingDataReport
from albert_keras.pretraining.stages import Preparation
from albert_keras.pretraining.tfrecord import index_records
from albert_keras.text.corpus import open_corpus

CONFIG = PretrainingDataConfig(sequence_length=53, dupe_factor=3, num_shards=4, seed=2)


@pytest.fixture
def make_job(documents, tokenizer, tmp_path):
    corpus = open_corpus(documents, part_bytes=11_000)

    def make(name, dynamic=False):
        preparation = Preparation(corpus, tokenizer.encoder, CONFIG)
        return Job(preparation, tmp_path / name, dynamic)

    return make


def run_all(job):
    """Runs all tasks of a job; returns its report and the names of all run files."""
    counts = [
        jobs.tokenize_part(job, index)
        for index in range(len(job.preparation.corpus.parts))
    ]
    runs = [path.name for path in job.runs("documents")]
    for shard in range(job.num_token_shards):
        for index, block in enumerate(jobs.shuffle_documents(job, shard)):
            task = ((shard, index), block, range(CONFIG.dupe_factor))
            counts.append(jobs.make_block(job, task))
    runs += [path.name for path in job.runs("examples")]
    for index in range(CONFIG.num_shards):
        jobs.shuffle_records(job, index)
    return PretrainingDataReport.of_counts(counts), runs


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
    for index in range(len(job.preparation.corpus.parts)):
        jobs.tokenize_part(job, index)
    (block,) = jobs.shuffle_documents(job, 0)
    counts = jobs.count_block(job, ((0, 0), block))
    first_pass = jobs.make_block(job, ((0, 0), block, range(1)))
    assert counts == first_pass
    assert job.shards == [job.token_shard(0)]
    job.delete_all()
    assert not job.work.exists()
    assert not job.token_shard(0).exists()
