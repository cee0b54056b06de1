"""Tasks of a preparation, each run by one worker, with the files they read and write.

A task gets the `Job` and its input, and returns a result that JSON can hold. The result
depends on these alone, and files are written whole or not at all, so a task can be
repeated. Nothing here imports TensorFlow.
"""

import collections
import dataclasses
import errno
import itertools
import pathlib
from typing import Any

import numpy as np

from albert_keras.pretraining.documents import tokenize_documents
from albert_keras.pretraining.examples import (
    GROUP_EXAMPLES,
    PretrainingDataConfig,
    cut_examples,
    make_examples,
    make_generator,
)
from albert_keras.pretraining.records import (
    serialize_examples,
    shard_path,
    write_shard,
)
from albert_keras.pretraining.report import (
    PretrainingDataReport,
    count_documents,
    count_examples,
)
from albert_keras.pretraining.shuffling import key_of_rank, merge_runs, write_run
from albert_keras.pretraining.token_store import (
    pack_documents,
    read_block,
    token_shard_path,
    write_token_shard,
)
from albert_keras.system.storage import delete_folder
from albert_keras.text.corpus import Corpus
from albert_keras.tokenizers.segmentation import make_segmenter

UNFINISHED = "unfinished"

# Bytes of the corpus for each shard of the store, up to `num_shards` shards.
_TOKEN_SHARD_BYTES = 2**25

# Characters tokenized in one call.
_BATCH_CHARACTERS = 2**20

# Bytes of items that a worker sorts together, and merges at a time.
_RUN_BYTES, _SHUFFLE_BYTES = 2**25, 2**23

# First numbers of the random generators' keys.
_DOCUMENT_ORDER, _EXAMPLES = 0, 1


@dataclasses.dataclass(frozen=True)
class Job:
    """Inputs of one preparation, and the paths of its files; pickles.

    Args:
        corpus: `Corpus`.
        encoder: `SentencePieceEncoder` or `WordPieceEncoder`.
        config: `PretrainingDataConfig`.
        folder: path of the output.
        dynamic: bool. Whether the token store is the result.
        held_out_folder: path of the store of held-out documents, or None.
    """

    corpus: Corpus
    encoder: Any
    config: PretrainingDataConfig
    folder: pathlib.Path
    dynamic: bool
    held_out_folder: pathlib.Path | None = None

    @property
    def work(self):
        """Folder of unfinished work."""
        return self.folder / UNFINISHED

    @property
    def num_token_shards(self):
        """Number of shards of the token store."""
        num_wanted = 1 + self.corpus.num_bytes // _TOKEN_SHARD_BYTES
        return min(self.config.num_shards, num_wanted)

    def token_shard(self, index):
        """Returns the path of a shard of the token store."""
        folder = self.folder if self.dynamic else self.work / "tokens"
        return token_shard_path(folder, index, self.num_token_shards)

    @property
    def shards(self):
        """Paths of the resulting files."""
        if self.dynamic:
            return [self.token_shard(i) for i in range(self.num_token_shards)]
        num_shards = self.config.num_shards
        return [shard_path(self.folder, i, num_shards) for i in range(num_shards)]

    @property
    def of_held_out(self):
        """The job whose result is the store of the held-out documents."""
        return dataclasses.replace(
            self,
            config=dataclasses.replace(self.config, num_shards=1),
            folder=self.held_out_folder,
            dynamic=True,
            held_out_folder=None,
        )

    def runs(self, kind, num_runs):
        """Returns the paths of the sorted `"documents"` or `"examples"`.

        Raises:
            FileNotFoundError: If there are not `num_runs`: a worker that was taken for
                lost may write after others have finished and deleted them, and a network
                disk may list files late.
        """
        folder = self.work / kind
        paths = sorted(folder.glob("[!.]*.run"))
        if len(paths) != num_runs:
            raise FileNotFoundError(
                errno.ENOENT,
                f"There must be {num_runs} sorted files, and {len(paths)} are found. "
                "Repeat the call; if it fails again, prepare the data in another folder",
                str(folder),
            )
        return paths

    def delete_work(self):
        """Deletes unfinished work."""
        delete_folder(self.work)

    def delete_all(self):
        """Deletes all files of this job."""
        self.delete_work()
        for path in self.shards:
            path.unlink(missing_ok=True)
        if self.held_out_folder:
            self.of_held_out.delete_all()


def tokenize_part(job, index):
    """Tokenizes one part of the corpus into run files; returns counts and `num_runs`."""
    items = document_items(job, index)
    return _write_runs(items, job.work / "documents", f"{index:06}")


def hold_documents_out(job, task):
    """Writes the first documents in the order of their keys to a store of their own.

    A task is the numbers of these documents and of run files. Returns `first_key`, that
    of the next document; `blocks`; and `counts` of examples.
    """
    num_documents, num_runs = task
    runs, held_out = job.runs("documents", num_runs), job.of_held_out
    first_key = key_of_rank(runs, num_documents)
    items = merge_runs(runs, 0, 1, _SHUFFLE_BYTES, high=first_key)
    vocabulary_size = job.encoder.vocabulary_size()
    blocks = write_token_shard(held_out.token_shard(0), items, vocabulary_size)
    tasks = [((0, number), block, range(1)) for number, block in enumerate(blocks)]
    counts = [make_block(held_out, task)["counts"] for task in tasks]
    return {"first_key": first_key, "blocks": blocks, "counts": _sum_counts(counts)}


def shuffle_documents(job, task):
    """Writes one shard of the token store; returns its blocks.

    A task is the shard's number, the key below which documents are held out, and the
    number of run files.
    """
    index, first_key, num_runs = task
    runs, num_shards = job.runs("documents", num_runs), job.num_token_shards
    items = merge_runs(runs, index, num_shards, _SHUFFLE_BYTES, low=first_key)
    vocabulary_size = job.encoder.vocabulary_size()
    return write_token_shard(job.token_shard(index), items, vocabulary_size)


def make_block(job, task):
    """Makes the records of one block of the store; returns counts.

    A task is the block's place `(shard, block)`, its description, and a range of passes.
    If the store is the result, the records are only counted.
    """
    (shard, number), block, passes = task
    documents = read_block(job.token_shard(shard), block)
    items = itertools.chain.from_iterable(
        record_items(job, documents, (shard, number), pass_index)
        for pass_index in passes
    )
    if job.dynamic:
        return {"counts": _sum_counts(counts for *_, counts in items), "num_runs": 0}
    name = f"{shard:05}-{number:06}-{passes[0]:04}"
    return _write_runs(items, job.work / "examples", name)


def shuffle_records(job, task):
    """Writes one record file; returns its index, see `write_shard`.

    A task is the file's number, and the number of run files.
    """
    index, num_runs = task
    runs, num_shards = job.runs("examples", num_runs), job.config.num_shards
    items = merge_runs(runs, index, num_shards, _SHUFFLE_BYTES)
    return write_shard(job.shards[index], items)


def document_items(job, index):
    """Tokenizes one part of the corpus; yields `(keys, items, counts)`.

    The random keys decide the order of the items, documents as bytes, in the store.
    """
    rng = make_generator(job.config.seed, _DOCUMENT_ORDER, index)
    segmenter = make_segmenter(job.config.word_segmenter, job.encoder)
    counts = collections.Counter()
    for batch in _batches(job.corpus.read(job.corpus.parts[index], counts)):
        tokenized = tokenize_documents(batch, job.encoder, segmenter)
        keys = rng.integers(0, 2**64, tokenized.num_documents, np.uint64)
        num_empty = counts.pop("empty_documents", 0)
        found = count_documents(batch, tokenized, num_empty, job.encoder, job.config)
        yield keys, pack_documents(tokenized), {**counts, **found}
        counts.clear()


def record_items(job, documents, place, pass_index):
    """Makes the records of a block in one pass; yields like `document_items`."""
    rng = make_generator(job.config.seed, _EXAMPLES, pass_index, *place)
    cut = cut_examples(documents, rng, job.config)
    for begin in range(0, max(1, cut.num_examples), GROUP_EXAMPLES):
        rows = np.arange(begin, min(begin + GROUP_EXAMPLES, cut.num_examples))
        arrays, run_counts = make_examples(cut, rows, rng, job.encoder, job.config)
        keys = rng.integers(0, 2**64, len(rows), np.uint64)
        counts = count_examples(arrays, run_counts, job.config)
        if begin == 0:
            counts["num_skipped_chunks"] = cut.num_skipped
        yield keys, serialize_examples(arrays), counts


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


def _write_runs(parts, folder, name):
    """Writes items to sorted run files of limited size.

    Returns the sum of `counts`, and the number of files, `num_runs`.
    """
    keys, items, num_bytes, all_counts, num_runs = [], [], 0, [], 0
    for number, (new_keys, new_items, counts) in enumerate(parts):
        keys.append(new_keys)
        items += new_items
        num_bytes += sum(map(len, new_items))
        all_counts.append(counts)
        if num_bytes >= _RUN_BYTES:
            write_run(folder / f"{name}-{number:06}.run", np.concatenate(keys), items)
            keys, items, num_bytes, num_runs = [], [], 0, num_runs + 1
    if keys:
        write_run(folder / f"{name}-last.run", np.concatenate(keys), items)
        num_runs += 1
    return {"counts": _sum_counts(all_counts), "num_runs": num_runs}


def _sum_counts(parts):
    return dataclasses.asdict(PretrainingDataReport.of_counts(parts))
