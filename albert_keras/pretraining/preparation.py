"""Preparation of pretraining data: from a corpus to files, by any number of workers.

1. Tokenize each part of the corpus.
2. Shuffle all documents into the token store.
3. Make examples of each block of the store, `dupe_factor` times.
4. Shuffle all examples into record files.

A token store (steps 1 and 2) is enough for training, which then makes new examples in
each epoch. Shuffling sorts by random keys on disk (`shuffling.py`).
"""

import contextlib
import dataclasses
import errno
import functools
import hashlib
import json
import os
import pathlib
import shutil

from albert_keras.files import write_json
from albert_keras.pretraining.beam import BeamPool
from albert_keras.pretraining.examples import PretrainingDataConfig
from albert_keras.pretraining.jobs import (
    UNFINISHED,
    Job,
    count_block,
    make_block,
    shuffle_documents,
    shuffle_records,
    tokenize_part,
)
from albert_keras.pretraining.packing import max_pairs
from albert_keras.pretraining.records import read_description, write_description
from albert_keras.pretraining.report import PretrainingDataReport
from albert_keras.pretraining.stages import Preparation
from albert_keras.pretraining.workers import TaskPool
from albert_keras.text.corpus import open_corpus
from albert_keras.tokenizers.segmentation import make_segmenter

# Passes over a block in one task: about 30 MB of records at length 512.
_PASSES_TOGETHER = 8

# Blocks of a token store whose examples are counted for the report.
_SAMPLED_BLOCKS = 4


def prepare_pretraining_data(
    corpus,
    tokenizer,
    output_dir,
    config=None,
    *,
    dynamic=False,
    num_workers=1,
    runner=None,
    runner_options=(),
    progress=None,
):
    """Converts a corpus to files for pretraining.

    By default these are TFRecord files of finished examples, `dupe_factor` for each
    chunk of text. With `dynamic` they are token ids, and `pretraining_dataset` draws new
    pairs and masks in each epoch. The same arguments give the same bytes for any
    `num_workers`. Memory does not grow with the corpus: each worker holds one block.

    Unfinished work is in the folder `unfinished/` of the output. It takes about as much
    space as the result and is deleted at the end. After an interruption, a call with the
    same arguments continues there. A finished preparation is not repeated.

    `dataset.json` describes the result: `kind` (`"records"` or `"tokens"`),
    `sequence_length`, `max_predictions`, `vocabulary_size`, `tokenizer_fingerprint`,
    `input_fingerprint`, `sentence_pairs`, `config`, `shards` and `report`.

    Args:
        corpus: `Corpus`, or an argument of `open_corpus`: files, folders, globs, or a
            list of documents.
        tokenizer: `AlbertTokenizer` or `WordPieceTokenizer`.
        output_dir: str or path. A new or empty folder, or that of an earlier call.
        config: `PretrainingDataConfig`, or None for its defaults.
        dynamic: bool. Whether to store token ids instead of examples.
        num_workers: int >= 1. Number of processes. With more than one, the main module
            must be importable (`if __name__ == "__main__":`).
        runner: str, one of `RUNNERS`, or None. Apache Beam runner that replaces the
            `num_workers` processes, on one machine or many; see `BeamPool`.
        runner_options: list of str. Its options, as on a command line.
        progress: callable `(stage, done, total)`, or None. Called after each task;
            the stages are `"tokenize"` (bytes), `"shuffle"` (files), `"examples"`
            (tokens) and `"write"` (files).

    Returns:
        `PretrainingDataReport`.

    Raises:
        FileExistsError: If `output_dir` is a file, or holds other files.
        ValueError: If `output_dir` holds data of other arguments, the corpus is
            invalid, or it gives no example.
        OSError: If the disk is full. Finished work is kept for the next call.

    Example:

    >>> import tempfile
    >>> from albert_keras.tokenizers import AlbertTokenizer, train_sentence_piece
    >>> documents = [["one small text", "and its end"], ["one more", "the same end"]]
    >>> proto = train_sentence_piece(sum(documents, []), 31)
    >>> config = PretrainingDataConfig(sequence_length=64, dupe_factor=3, num_shards=1)
    >>> folder = tempfile.mkdtemp()
    >>> report = prepare_pretraining_data(
    ...     documents, AlbertTokenizer(proto), folder, config
    ... )
    >>> report.num_documents, report.num_examples
    (2, 6)
    """
    config = config or PretrainingDataConfig()
    config.warn_of_cut_rate()
    # Raises errors here rather than in a worker.
    make_segmenter(config.word_segmenter, tokenizer.encoder)
    corpus = open_corpus(corpus)
    folder = pathlib.Path(output_dir)
    plan = _plan(corpus, tokenizer, config, dynamic)
    finished = _check_folder(folder, plan)
    job = Job(Preparation(corpus, tokenizer.encoder, config), folder, dynamic)
    if finished:
        # The finishing call may have been killed before it deleted this.
        job.delete_work()
        return PretrainingDataReport.from_dict(finished["report"])
    if runner is None:
        pool = TaskPool(job.work, num_workers, job)
    else:
        pool = BeamPool(job.work, job, runner, runner_options)
    write_json(job.work / "plan.json", plan)
    with _kept_for_next_call(job), pool:
        run = functools.partial(_run_stage, pool, progress)
        shards, counts = _make_tokens(job, run)
        if not dynamic:
            counts += _make_examples(job, run, shards)
        report = PretrainingDataReport.of_counts(counts)
        _check_not_empty(report)
        if not dynamic:
            indices = range(config.num_shards)
            indexes = run("write", shuffle_records, indices, [1] * len(indices))
            shards = {job.record_shard(i).name: indexes[i] for i in indices}
    write_description(folder, {**plan, **_describe(job, shards, report)})
    job.delete_work()
    return report


def _run_stage(pool, progress, stage, function, tasks, weights):
    """Runs the tasks of a stage; reports the sum of the weights done to `progress`."""
    total, done = sum(weights), 0

    def track(number):
        nonlocal done
        done += weights[number]
        progress(stage, done, total)

    if progress is None:
        return pool.run(stage, function, tasks)
    progress(stage, 0, total)
    return pool.run(stage, function, tasks, track)


def _make_tokens(job, run):
    """Writes the token store; returns `{shard name: list of blocks}` and counts.

    If the store is the result, the counts include the examples of a few blocks.
    """
    parts = job.preparation.corpus.parts
    sizes = [part.num_bytes for part in parts]
    counts = run("tokenize", tokenize_part, range(len(parts)), sizes)
    indices = range(job.num_token_shards)
    blocks = run("shuffle", shuffle_documents, indices, [1] * len(indices))
    shutil.rmtree(job.work / "documents", ignore_errors=True)
    shards = {job.token_shard(i).name: blocks[i] for i in indices}
    if job.dynamic:
        tasks = _blocks(shards)[:_SAMPLED_BLOCKS]
        weights = [block["num_tokens"] for _, block in tasks]
        counts += run("examples", count_block, tasks, weights)
    return shards, counts


def _make_examples(job, run, token_shards):
    """Makes the examples of all blocks in all passes; returns counts."""
    dupe_factor = job.preparation.config.dupe_factor
    tasks = [
        (place, block, range(first, min(first + _PASSES_TOGETHER, dupe_factor)))
        for place, block in _blocks(token_shards)
        for first in range(0, dupe_factor, _PASSES_TOGETHER)
    ]
    weights = [len(passes) * block["num_tokens"] for _, block, passes in tasks]
    counts = run("examples", make_block, tasks, weights)
    shutil.rmtree(job.work / "tokens", ignore_errors=True)
    return counts


def _blocks(shards):
    """Lists `((shard number, block number), block)` of a store."""
    return [
        ((shard, index), block)
        for shard, blocks in enumerate(shards.values())
        for index, block in enumerate(blocks)
    ]


def _plan(corpus, tokenizer, config, dynamic):
    """Returns the inputs that decide every byte of the result."""
    described = json.dumps(corpus.describe(), sort_keys=True)
    return {
        "kind": "tokens" if dynamic else "records",
        "config": dataclasses.asdict(config),
        "tokenizer_fingerprint": tokenizer.fingerprint(),
        "input_fingerprint": hashlib.sha256(described.encode()).hexdigest()[:16],
    }


def _describe(job, shards, report):
    config, encoder = job.preparation.config, job.preparation.encoder
    is_filled = config.packing == "filled"
    return {
        "sequence_length": config.sequence_length,
        "max_predictions": config.num_predictions,
        "max_pairs": max_pairs(config.sequence_length) if is_filled else 0,
        "vocabulary_size": int(encoder.vocabulary_size()),
        "special_token_ids": list(map(int, encoder.special_token_ids)),
        "sentence_pairs": config.sentence_pairs,
        "shards": shards,
        "report": report.to_dict(),
    }


def _check_folder(folder, plan):
    """Checks that a folder is new or holds data of the same plan.

    Returns:
        The description of finished data, or None.
    """
    if folder.is_file():
        raise FileExistsError(
            f"`output_dir` must be a folder. Received: output_dir='{folder}', a file."
        )
    finished = read_description(folder)
    unfinished = folder / UNFINISHED / "plan.json"
    if finished is not None:
        found = finished
    elif unfinished.is_file():
        found = json.loads(unfinished.read_text("utf-8"))
    elif others := [path for path in sorted(folder.glob("*")) if not _is_begun(path)]:
        raise FileExistsError(
            "`output_dir` must be new or empty, or hold data of the same arguments. "
            f"Received: output_dir='{folder}', with '{others[0].name}'."
        )
    else:
        return None
    if differences := _differences(found, plan):
        raise ValueError(
            "`output_dir` holds data that was prepared with other arguments. Received: "
            f"output_dir='{folder}', where {', '.join(differences)}. Repeat them, "
            "delete the folder, or take another."
        )
    return finished


def _is_begun(path):
    """Whether work was interrupted before its plan was written."""
    return path.name == UNFINISHED and not any(path.glob("[!.]*"))


def _differences(found, plan):
    """Lists the differences between a description and a plan, in words."""
    before, now = ({**p, **p["config"]} for p in ({"config": {}, **found}, plan))
    return [
        f"{name} was {before.get(name)!r} and is {value!r}"
        for name, value in now.items()
        if name != "config" and before.get(name) != value
    ]


def _check_not_empty(report):
    if not report.num_examples:
        raise ValueError(
            "The corpus must give at least one example. "
            f"Received: num_documents={report.num_documents}, "
            f"dropped_documents={report.dropped_documents}, "
            f"num_skipped_chunks={report.num_skipped_chunks}. Sentence pairs need two "
            'sentences a document, or `one_sentence_chunks="random_document"`.'
        )


@contextlib.contextmanager
def _kept_for_next_call(job):
    """Deletes work after invalid input; keeps it, and says so, if the disk is full."""
    try:
        yield
    except ValueError:
        # The same call would fail again.
        job.delete_all()
        raise
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise OSError(
            error.errno,
            f"{os.strerror(error.errno)}. Finished work is kept in '{job.folder}': "
            "free some space and repeat the call to continue",
        ) from error
