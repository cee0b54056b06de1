"""The tasks of a preparation: what a worker reads and writes, one of them at a time.

Each is given the job and what to work on, and returns what JSON can hold. Files are
whole or absent, so a task can be repeated.
"""

import dataclasses
import itertools
import pathlib
import shutil

from albert_keras.pretraining.records import shard_path, write_shard
from albert_keras.pretraining.report import PretrainingDataReport
from albert_keras.pretraining.shuffling import join_items, merge_runs, write_run
from albert_keras.pretraining.stages import Preparation
from albert_keras.pretraining.token_store import (
    read_block,
    token_shard_path,
    write_token_shard,
)

UNFINISHED = "unfinished"

# Bytes of the corpus for each shard of the store, until there are `num_shards`.
_TOKEN_SHARD_BYTES = 2**25

# Bytes of items that are sorted together, in each worker.
_RUN_BYTES = 2**25

# What is in memory of the items being shuffled, in each worker.
_SHUFFLE_BYTES = 2**23


@dataclasses.dataclass(frozen=True)
class Job:
    """What all tasks know: what to do, and where things stand.

    Args:
        preparation: `Preparation`.
        folder: path of the output.
        dynamic: bool. Whether the token store is the result.
    """

    preparation: Preparation
    folder: pathlib.Path
    dynamic: bool

    @property
    def work(self):
        """Folder of what is not finished."""
        return self.folder / UNFINISHED

    @property
    def num_token_shards(self):
        """Number of files of the store."""
        num_wanted = 1 + self.preparation.corpus.num_bytes // _TOKEN_SHARD_BYTES
        return min(self.preparation.config.num_shards, num_wanted)

    def token_shard(self, index):
        """Returns the path of one file of the store."""
        folder = self.folder if self.dynamic else self.work / "tokens"
        return token_shard_path(folder, index, self.num_token_shards)

    def record_shard(self, index):
        """Returns the path of one record file."""
        return shard_path(self.folder, index, self.preparation.config.num_shards)

    @property
    def shards(self):
        """Paths of the files that are the result."""
        if self.dynamic:
            return [self.token_shard(i) for i in range(self.num_token_shards)]
        return [self.record_shard(i) for i in range(self.preparation.config.num_shards)]

    def runs(self, kind):
        """Returns the sorted runs of `"documents"` or `"examples"`."""
        return sorted((self.work / kind).glob("[!.]*.run"))

    def delete_work(self):
        """Deletes what is unfinished, also what killed workers left beside it."""
        if self.work.is_dir():
            shutil.rmtree(self.work)
        for pattern in (".*-of-*", ".*.dataset.json"):
            for path in self.folder.glob(pattern):
                path.unlink()

    def delete_all(self):
        """Deletes everything there is of this job."""
        self.delete_work()
        for path in self.shards:
            path.unlink(missing_ok=True)


def tokenize_part(job, index):
    """Tokenizes one part of the corpus into runs; returns what was counted."""
    counts = _write_runs(
        job.preparation.tokenize_part(index), job.work / "documents", f"{index:06}"
    )
    return PretrainingDataReport.of_counts(counts).counts()


def shuffle_documents(job, index):
    """Writes one shard of the token store; returns its blocks."""
    num_shards = job.num_token_shards
    pieces = merge_runs(job.runs("documents"), index, num_shards, _SHUFFLE_BYTES)
    vocabulary_size = job.preparation.encoder.vocabulary_size()
    return write_token_shard(job.token_shard(index), pieces, vocabulary_size)


def make_block(job, task):
    """Makes the records of one block of the store, in some passes; returns counts."""
    place, block, passes = task
    documents = read_block(job.token_shard(place[0]), block)
    items = itertools.chain.from_iterable(
        job.preparation.make_records(documents, place, pass_index)
        for pass_index in passes
    )
    name = f"{place[0]:05}-{place[1]:06}-{passes[0]:04}"
    counts = _write_runs(items, job.work / "examples", name)
    return PretrainingDataReport.of_counts(counts).counts()


def count_block(job, task):
    """Makes the records of one block in a first pass, only to count them."""
    place, block = task
    documents = read_block(job.token_shard(place[0]), block)
    records = job.preparation.make_records(documents, place, pass_index=0)
    return PretrainingDataReport.of_counts(c for *_, c in records).counts()


def shuffle_records(job, index):
    """Writes one record file; returns what `dataset.json` tells of it."""
    num_shards = job.preparation.config.num_shards
    pieces = merge_runs(job.runs("examples"), index, num_shards, _SHUFFLE_BYTES)
    return write_shard(job.record_shard(index), pieces)


def _write_runs(items, folder, name):
    """Writes items to sorted runs of a bounded size; returns their counts."""
    waiting, num_bytes, all_counts = [], 0, []
    for number, (keys, blob, ends, counts) in enumerate(items):
        waiting.append((keys, blob, ends))
        num_bytes += len(blob)
        all_counts.append(counts)
        if num_bytes >= _RUN_BYTES:
            write_run(folder / f"{name}-{number:06}.run", *join_items(waiting))
            waiting, num_bytes = [], 0
    if waiting:
        write_run(folder / f"{name}-last.run", *join_items(waiting))
    return all_counts
