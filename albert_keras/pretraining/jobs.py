"""Tasks of a preparation, each run by one worker, with the files they read and write.

A task gets the `Job` and its input, and returns a result that JSON can hold. The result
depends on these alone, and files are written whole or not at all, so a task can be
repeated. Only `write_examples` imports TensorFlow.
"""

import collections
import dataclasses
import pathlib
from typing import Any

import numpy as np

from albert_keras.pretraining.documents import (
    join_documents,
    take_documents,
    tokenize_documents,
)
from albert_keras.pretraining.examples import PretrainingDataConfig, make_generator
from albert_keras.pretraining.records import write_records
from albert_keras.pretraining.report import (
    PretrainingDataReport,
    count_documents,
    count_examples,
)
from albert_keras.pretraining.stream import ExampleStream
from albert_keras.pretraining.token_store import (
    read_bucket,
    write_buckets,
    write_token_shard,
)
from albert_keras.system.storage import delete_folder
from albert_keras.text.corpus import Corpus
from albert_keras.tokenizers.ragged import offsets_of
from albert_keras.tokenizers.segmentation import make_segmenter

# What a preparation may write: a token store, or its examples as TFRecords.
DATA_FORMATS = ("store", "tfrecord")

# Folders in that of the output.
UNFINISHED, HELD_OUT = "unfinished", "held_out"

# About 1 MB of the store, or a thousand examples of length 512.
BLOCK_TOKENS = 2**19

# Bytes of the corpus for each bucket of documents that are shuffled in memory. From 8 GB
# on buckets grow, because each takes a read of each file of tokenized documents.
_BUCKET_BYTES, _MAX_BUCKETS = 2**23, 2**10

# Characters tokenized in one call, for one file: at most those of a part, but of a
# compressed file.
_BATCH_CHARACTERS = 2**21

# First numbers of the random generators' keys, after those of `ExampleStream`.
_BUCKETS, _ORDER = 3, 4


@dataclasses.dataclass(frozen=True)
class Job:
    """Inputs of one preparation, and the paths of its files; pickles.

    Args:
        corpus: `Corpus`.
        encoder: `SentencePieceEncoder` or `WordPieceEncoder`.
        config: `PretrainingDataConfig`.
        folder: path of the output.
        format: str. One of `DATA_FORMATS`.
    """

    corpus: Corpus
    encoder: Any
    config: PretrainingDataConfig
    folder: pathlib.Path
    format: str

    @property
    def work(self):
        """Folder of unfinished work."""
        return self.folder / UNFINISHED

    @property
    def held_out(self):
        """Folder of the token store of held-out documents."""
        return self.folder / HELD_OUT

    @property
    def store(self):
        """Folder of the token store."""
        return self.folder if self.format == "store" else self.work / "tokens"

    @property
    def num_buckets(self):
        """Number of the parts of the corpus that are shuffled in memory."""
        return min(-(-self.corpus.num_bytes // _BUCKET_BYTES), _MAX_BUCKETS)

    def describe(self, shards):
        """Returns what `dataset.json` says of the vocabulary, and of some `shards`."""
        return {
            "vocabulary_size": int(self.encoder.vocabulary_size()),
            "special_token_ids": list(map(int, self.encoder.special_token_ids)),
            "shards": shards,
        }

    def open_stream(self, folder, shards):
        """Returns the `ExampleStream` of the `shards` of a token store."""
        described = self.describe(shards)
        return ExampleStream(folder, described, self.config, self.config.seed)

    def delete_all(self):
        """Deletes all files of this job."""
        for folder in (self.work, self.held_out):
            delete_folder(folder)
        for path in self.folder.glob("[!.]*-of-*"):
            path.unlink()


def tokenize_part(job, index):
    """Tokenizes one part of the corpus, and throws each document into a random bucket.

    Returns `counts`; `num_documents` of each bucket; and `files`, names in `documents`.
    """
    rng = make_generator(job.config.seed, _BUCKETS, index)
    segmenter = make_segmenter(job.config.word_segmenter, job.encoder)
    counts, all_counts, files = collections.Counter(), [], []
    num_documents = np.zeros(job.num_buckets, np.int64)
    for batch in _batches(job.corpus.read(job.corpus.parts[index], counts)):
        documents = tokenize_documents(batch, job.encoder, segmenter)
        num_empty = counts.pop("empty_documents", 0)
        found = count_documents(batch, documents, num_empty, job.encoder, job.config)
        all_counts.append({**counts, **found})
        counts.clear()
        buckets = rng.integers(job.num_buckets, size=documents.num_documents)
        sizes = np.bincount(buckets, minlength=job.num_buckets)
        num_documents += sizes
        numbers = np.split(np.argsort(buckets, kind="stable"), np.cumsum(sizes)[:-1])
        files.append(f"{index:06}-{len(files):06}")
        write_buckets(
            job.work / "documents" / files[-1],
            [take_documents(documents, of_bucket) for of_bucket in numbers],
            job.encoder.vocabulary_size(),
        )
    counts = _sum_counts(all_counts)
    return {"counts": counts, "num_documents": num_documents.tolist(), "files": files}


def shuffle_documents(job, task):
    """Writes one shard of a token store; returns its blocks.

    A task is the shard's path; which documents of which buckets it has, each a bucket
    with a first and a last place in its permutation; and the names in `documents`.
    """
    path, pieces, files = task
    blocks = (block for piece in pieces for block in _shuffled(job, files, *piece))
    return write_token_shard(path, blocks, job.encoder.vocabulary_size())


def _shuffled(job, files, bucket, first, last):
    """Yields the blocks of some documents of a bucket."""
    if first == last:
        return
    paths = [job.work / "documents" / name for name in files]
    documents = join_documents([read_bucket(path, bucket) for path in paths])
    rng = make_generator(job.config.seed, _ORDER, bucket)
    order = rng.permutation(documents.num_documents)[first:last]
    sizes = np.diff(documents.sentence_offsets[documents.document_offsets])
    ends = offsets_of(sizes[order])
    num_blocks = max(1, round(ends[-1] / BLOCK_TOKENS))
    bounds = np.searchsorted(ends, np.linspace(0, ends[-1], num_blocks + 1))
    for numbers in np.split(order, np.unique(bounds)[1:-1]):
        yield take_documents(documents, numbers)


def count_windows(job, task):
    """Counts the examples of one epoch; returns `sizes` of the stream's windows.

    A task is the number of the epoch, and the store's shards.
    """
    epoch, shards = task
    sizes, num_skipped = job.open_stream(job.store, shards).count_windows(epoch)
    return {"sizes": sizes, "counts": {"num_skipped_chunks": num_skipped}}


def count_stream(job, task):
    """Returns the counts of the examples of one epoch; a task is a folder and shards."""
    stream = job.open_stream(*task)
    sizes, num_skipped = stream.count_windows(0)
    groups = stream.groups(0, sum(sizes), sizes)
    counts = [count_examples(*group, job.config) for group in groups]
    return _sum_counts([*counts, {"num_skipped_chunks": num_skipped}])


def write_examples(job, task):
    """Writes one record file, a slice of the stream of `dupe_factor` epochs.

    A task is the file's path, the first example and the one after the last, the store's
    shards, and the sizes of all windows. Returns the counts of the examples.
    """
    path, first, last, shards, sizes = task
    groups, counts = job.open_stream(job.store, shards).groups(first, last, sizes), []

    def counted():
        for arrays, run_counts in groups:
            counts.append(count_examples(arrays, run_counts, job.config))
            yield arrays

    write_records(path, counted())
    return _sum_counts(counts)


def _batches(documents):
    """Yields lists of documents; the last one may be empty."""
    batch, num_characters = [], 0
    for document in documents:
        batch.append(document)
        num_characters += sum(map(len, document))
        if num_characters >= _BATCH_CHARACTERS:
            yield batch
            batch, num_characters = [], 0
    yield batch


def _sum_counts(parts):
    return dataclasses.asdict(PretrainingDataReport.of_counts(parts))
