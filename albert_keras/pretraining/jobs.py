"""Tasks of a preparation, each executed by a worker, with the files they read and write.

A task gets the `Job` and its input, and returns a result for JSON. The result depends
only on these, and files are written atomically, so a task can be repeated. Only
`write_examples` imports TensorFlow.
"""

import collections
import dataclasses
import pathlib
from typing import Any

import numpy as np

from albert_keras.pretraining import documents, report, token_store
from albert_keras.pretraining.examples import PretrainingDataConfig, make_generator
from albert_keras.pretraining.records import write_records
from albert_keras.pretraining.segmentation import make_segmenter
from albert_keras.pretraining.stream import ExampleStream
from albert_keras.system.storage import delete_folder
from albert_keras.text.corpus import Corpus
from albert_keras.tokenizers.ragged import offsets_of

# Formats of prepared data: a token store, or its examples as TFRecords.
DATA_FORMATS = ("store", "tfrecord")

# Subfolders of the output.
UNFINISHED, HELD_OUT = "unfinished", "held_out"

# About 1 MB of the store, or a thousand examples of length 512.
BLOCK_TOKENS = 2**19

# Bytes of the corpus for each bucket. Buckets are shuffled in memory; above 8 GB they
# grow, because each one needs a read of each file of tokenized documents.
_BUCKET_BYTES, _MAX_BUCKETS = 2**23, 2**10

# Characters that are tokenized in one call and written to one file: at most those of a
# part, except in compressed files.
_BATCH_CHARACTERS = 2**21

# First numbers of the random generators' keys; `ExampleStream` uses those before.
_BUCKETS, _ORDER = 3, 4


@dataclasses.dataclass(frozen=True)
class Job:
    """Inputs of a preparation, and the paths of its files. Can be pickled.

    Args:
        corpus: `Corpus`.
        encoder: `SentencePieceEncoder` or `WordPieceEncoder`.
        config: `PretrainingDataConfig`.
        folder: path. Folder of the output.
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
        """Number of buckets, each of which is shuffled in memory."""
        return min(-(-self.corpus.num_bytes // _BUCKET_BYTES), _MAX_BUCKETS)

    def open_stream(self, folder, shards):
        """Returns the `ExampleStream` of the `shards` of a token store."""
        config = self.config
        return ExampleStream(folder, shards, self.encoder, config, config.seed)

    def delete_all(self):
        """Deletes all files of this job."""
        for folder in (self.work, self.held_out):
            delete_folder(folder)
        for path in self.folder.glob("[!.]*-of-*"):
            path.unlink()


def tokenize_part(job, index):
    """Tokenizes a part of the corpus, and puts each document in a random bucket.

    Returns:
        Dict: `counts`; `num_documents` of each bucket; `files`, names in the folder
        `documents`.
    """
    rng = make_generator(job.config.seed, _BUCKETS, index)
    segmenter = make_segmenter(job.config.word_segmenter, job.encoder)
    counts, all_counts, names = collections.Counter(), [], []
    num_documents = np.zeros(job.num_buckets, np.int64)
    for batch in _batches(job.corpus.read(job.corpus.parts[index], counts)):
        tokenized = documents.tokenize_documents(batch, job.encoder, segmenter)
        num_empty = counts.pop("empty_documents", 0)
        all_counts.append(
            report.count_documents(batch, tokenized, num_empty, job.encoder, job.config)
        )
        buckets = rng.integers(job.num_buckets, size=tokenized.num_documents)
        sizes = np.bincount(buckets, minlength=job.num_buckets)
        num_documents += sizes
        # Numbers of the documents in each bucket.
        numbers = np.split(np.argsort(buckets, kind="stable"), np.cumsum(sizes)[:-1])
        names.append(f"{index:06}-{len(names):06}")
        token_store.write_buckets(
            job.work / "documents" / names[-1],
            [documents.take_documents(tokenized, each) for each in numbers],
            job.encoder.vocabulary_size(),
        )
    counts = _sum_counts([*all_counts, counts])
    return {"counts": counts, "num_documents": num_documents.tolist(), "files": names}


def shuffle_documents(job, task):
    """Writes a shard of a token store; returns the descriptions of its blocks.

    A task consists of the path of the shard; the documents in it, a list of `(bucket,
    first, last)` in the order of the shuffled bucket; and the names of the files in the
    folder `documents`.
    """
    path, ranges, names = task
    blocks = (block for each in ranges for block in _shuffled(job, names, *each))
    return token_store.write_token_shard(path, blocks, job.encoder.vocabulary_size())


def _shuffled(job, names, bucket, first, last):
    """Yields the documents from `first` to `last` of a shuffled bucket, in blocks."""
    if first == last:
        return
    paths = [job.work / "documents" / name for name in names]
    parts = [token_store.read_bucket(path, bucket) for path in paths]
    joined = documents.join_documents(parts)
    rng = make_generator(job.config.seed, _ORDER, bucket)
    order = rng.permutation(joined.num_documents)[first:last]
    sizes = np.diff(joined.sentence_offsets[joined.document_offsets])
    ends = offsets_of(sizes[order])
    num_blocks = max(1, round(ends[-1] / BLOCK_TOKENS))
    bounds = np.searchsorted(ends, np.linspace(0, ends[-1], num_blocks + 1))
    for numbers in np.split(order, np.unique(bounds)[1:-1]):
        yield documents.take_documents(joined, numbers)


def count_windows(job, task):
    """Counts the examples of an epoch, and returns the `sizes` of the stream's windows.

    A task consists of the number of the epoch and the shards of the store.
    """
    epoch, shards = task
    sizes, num_skipped = job.open_stream(job.store, shards).count_windows(epoch)
    return {"sizes": sizes, "counts": {"num_skipped_chunks": num_skipped}}


def count_stream(job, task):
    """Counts the examples of the first epoch of a store, given its folder and shards."""
    stream = job.open_stream(*task)
    sizes, num_skipped = stream.count_windows(0)
    groups = stream.groups(0, sum(sizes), sizes)
    counts = [report.count_examples(*group, job.config) for group in groups]
    return _sum_counts([*counts, {"num_skipped_chunks": num_skipped}])


def write_examples(job, task):
    """Writes a record file, a slice of the stream of `dupe_factor` epochs.

    A task consists of the path of the file, the numbers of its first example and of the
    one after the last, the shards of the store, and the sizes of all windows.

    Returns:
        Counts of the examples.
    """
    path, first, last, shards, sizes = task
    groups, counts = job.open_stream(job.store, shards).groups(first, last, sizes), []

    def counted():
        for arrays, run_counts in groups:
            counts.append(report.count_examples(arrays, run_counts, job.config))
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
    return dataclasses.asdict(report.PretrainingDataReport.of_counts(parts))
