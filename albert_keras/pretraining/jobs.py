"""Tasks of a preparation, each run by one worker, with the files they read and write.

A task gets the job and its input, and returns a result that JSON can hold. Files are
written whole or not at all, so a task can be repeated.
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

# Bytes of the corpus for each shard of the store, up to `num_shards` shards.
_TOKEN_SHARD_BYTES = 2**25

# Bytes of items that a worker sorts together.
_RUN_BYTES = 2**25

# Bytes of items that a worker merges at a time.
_SHUFFLE_BYTES = 2**23


@dataclasses.dataclass(frozen=True)
class Job:
    """One preparation and its folders.

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
        """Folder of unfinished work."""
        return self.folder / UNFINISHED

    @property
    def num_token_shards(self):
        """Number of shards of the token store."""
        num_wanted = 1 + self.preparation.corpus.num_bytes // _TOKEN_SHARD_BYTES
        return min(self.preparation.config.num_shards, num_wanted)

    def token_shard(self, index):
        """Returns the path of a shard of the token store."""
        folder = self.folder if self.dynamic else self.work / "tokens"
        return token_shard_path(folder, index, self.num_token_shards)

    def record_shard(self, index):
        """Returns the path of a record file."""
        return shard_path(self.folder, index, self.preparation.config.num_shards)

    @property
    def shards(self):
        """Paths of the resulting files."""
        if self.dynamic:
            return [self.token_shard(i) for i in range(self.num_token_shards)]
        return [self.record_shard(i) for i in range(self.preparation.config.num_shards)]

    def runs(self, kind):
        """Returns the paths of the sorted `"documents"` or `"examples"`."""
        return sorted((self.work / kind).glob("[!.]*.run"))

    def delete_work(self):
        """Deletes unfinished work, and temporary files of killed workers."""
        if self.work.is_dir():
            shutil.rmtree(self.work)
        for pattern in (".*-of-*", ".*.dataset.json"):
            for path in self.folder.glob(pattern):
                path.unlink()

    def delete_all(self):
        """Deletes all files of this job."""
        self.delete_work()
        for path in self.shards:
            path.unlink(missing_ok=True)


def tokenize_part(job, index):
    """Tokenizes one part of the corpus into run files; returns counts."""
    items = job.preparation.tokenize_part(index)
    return _write_runs(items, job.work / "documents", f"{index:06}")


def shuffle_documents(job, index):
    """Writes one shard of the token store; returns its blocks."""
    num_shards = job.num_token_shards
    pieces = merge_runs(job.runs("documents"), index, num_shards, _SHUFFLE_BYTES)
    vocabulary_size = job.preparation.encoder.vocabulary_size()
    return write_token_shard(job.token_shard(index), pieces, vocabulary_size)


def make_block(job, task):
    """Makes the records of one block of the store in some passes; returns counts.

    Args:
        job: `Job`.
        task: tuple of the block's place `(shard, block)`, its description, and a range
            of passes.
    """
    (shard, number), block, passes = task
    documents = read_block(job.token_shard(shard), block)
    items = itertools.chain.from_iterable(
        job.preparation.make_records(documents, (shard, number), pass_index)
        for pass_index in passes
    )
    name = f"{shard:05}-{number:06}-{passes[0]:04}"
    return _write_runs(items, job.work / "examples", name)


def count_block(job, task):
    """Makes the records of one block in its first pass; returns only their counts."""
    place, block = task
    documents = read_block(job.token_shard(place[0]), block)
    records = job.preparation.make_records(documents, place, pass_index=0)
    return PretrainingDataReport.of_counts(c for *_, c in records).counts()


def shuffle_records(job, index):
    """Writes one record file; returns its index, see `write_shard`."""
    num_shards = job.preparation.config.num_shards
    pieces = merge_runs(job.runs("examples"), index, num_shards, _SHUFFLE_BYTES)
    return write_shard(job.record_shard(index), pieces)


def _write_runs(items, folder, name):
    """Writes items to sorted run files of limited size; returns the sum of counts."""
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
    return PretrainingDataReport.of_counts(all_counts).counts()
