"""Preparation on Apache Beam: the same files as from local processes."""

import dataclasses
import errno
import json
import os
import pathlib
import signal

import pytest

from albert_keras.pretraining.beam import BeamPool
from albert_keras.pretraining.examples import PretrainingDataConfig
from albert_keras.pretraining.preparation import prepare_pretraining_data
from albert_keras.text.corpus import Corpus, open_corpus

pytest.importorskip("apache_beam")

CONFIG = PretrainingDataConfig(sequence_length=59, dupe_factor=9, num_shards=4, seed=8)


@pytest.fixture(scope="module")
def corpus(documents):
    return open_corpus(documents, part_bytes=15_000)


@pytest.fixture(scope="module")
def expected(corpus, tokenizer, tmp_path_factory):
    """Files of local processes: `{format: {name: bytes}}`."""
    made = {}
    for format in ("tfrecord", "store"):
        folder = tmp_path_factory.mktemp("expected")
        prepare_pretraining_data(corpus, tokenizer, folder, CONFIG, format=format)
        made[format] = content(folder)
    return made


def content(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@dataclasses.dataclass(frozen=True)
class DeadlyCorpus(Corpus):
    """A corpus that kills the first process that reads one of its parts."""

    flag: pathlib.Path

    def read(self, part, counts=None):
        if part == self.parts[3] and not self.flag.exists():
            self.flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().read(part, counts)


@pytest.mark.slow
def test_a_lost_worker_of_a_cluster_only_delays(expected, corpus, tokenizer, tmp_path):
    distributed = pytest.importorskip("distributed")
    corpus = DeadlyCorpus(
        corpus.parts, corpus.options, corpus.sources, tmp_path / "killed"
    )
    with distributed.LocalCluster(
        n_workers=3, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
    ) as cluster:
        address = f"--dask_client_address={cluster.scheduler_address}"
        report = prepare_pretraining_data(
            corpus,
            tokenizer,
            tmp_path / "data",
            CONFIG,
            runner="DaskRunner",
            runner_options=[address],
        )
    assert corpus.flag.exists()
    assert content(tmp_path / "data") == expected["store"]
    description = json.loads(expected["store"]["dataset.json"])
    assert report.to_dict() == description["report"]


# === Tasks of any kind ===


def square(limit, number):
    """Task that fails above a limit."""
    if number > limit:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), f"file-{number}")
    if number < 0:
        raise ValueError(f"Must not be negative. Received: {number}.")
    return {"square": number**2}


def run(folder, numbers, limit=100):
    with BeamPool(folder, limit, "DirectRunner") as pool:
        results = pool.run("squared", square, numbers)
    return [result["square"] for result in results]


def test_errors_of_tasks_are_raised(tmp_path):
    with pytest.raises(ValueError, match="^Must not be negative. Received: -3.$"):
        run(tmp_path, [2, -3, 4])
    with pytest.raises(OSError, match="No space left on device: 'file-11'") as raised:
        run(tmp_path, [2, 11, 4], limit=10)
    assert raised.value.errno == errno.ENOSPC
    # Another error then is not taken for one of before.
    with pytest.raises(RuntimeError, match="TypeError"):
        run(tmp_path, [2, "eleven", 4])
    assert run(tmp_path, [2, 11, 4]) == [4, 121, 16]
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [f"squared-{number:06}.json" for number in range(3)]


def test_resume_after_local_processes(expected, corpus, tokenizer, tmp_path):
    def interrupt(stage, done, total):
        if (stage, done) == ("examples", total):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepare_pretraining_data(
            corpus, tokenizer, tmp_path, CONFIG, progress=interrupt, format="tfrecord"
        )
    prepare_pretraining_data(
        corpus, tokenizer, tmp_path, CONFIG, runner="DirectRunner", format="tfrecord"
    )
    assert content(tmp_path) == expected["tfrecord"]
    other = dataclasses.replace(CONFIG, masked_rate=0.31)
    with pytest.raises(ValueError, match="masked_rate was 0.15 and is 0.31"):
        prepare_pretraining_data(
            corpus, tokenizer, tmp_path, other, runner="DirectRunner", format="tfrecord"
        )
