"""A corpus to files to train from: made once, before training, by any number of workers.

1. Each part of the corpus is tokenized.
2. Its documents are shuffled into the token store, all over the corpus.
3. Each block of the store is made into examples, `dupe_factor` times.
4. These are shuffled into record files, over all blocks and passes.

A store alone (steps 1 and 2) is enough to train from: examples are then made anew in
each epoch. Shuffling is by random 64-bit keys, in runs sorted on disk (`shuffling.py`).
"""

import contextlib
import dataclasses
import errno
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

# Passes over a block whose records are sorted together: about 30 MB at length 512.
_PASSES_TOGETHER = 8

# Blocks that the report of a store alone is counted on.
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
    """Makes files for pretraining of a corpus.

    With `dynamic` they hold token ids, and `pretraining_dataset` makes pairs and masks
    anew in each epoch; else TFRecord files of finished examples, `dupe_factor` of each
    chunk of text. The same arguments give the same bytes, whatever `num_workers`, and
    memory does not grow with the corpus: each worker holds one block.

    What is being worked on stands in `unfinished/` in the output folder, which takes
    about as much room as the result, and goes when `dataset.json` is written. A call
    that is interrupted leaves it, and the next one with the same arguments goes on
    from there; a finished preparation is not repeated.

    `dataset.json` describes the set: `kind` (`"records"` or `"tokens"`),
    `sequence_length`, `max_predictions`, `vocabulary_size`, `tokenizer_fingerprint`,
    `input_fingerprint`, `sentence_pairs`, the whole `config`, the `shards` with what
    there is to know of each, and the `report`.

    Args:
        corpus: `Corpus`, or what `open_corpus` takes: files, folders, globs, or a list
            of documents.
        tokenizer: `AlbertTokenizer` or `WordPieceTokenizer`.
        output_dir: str or path. A new or empty folder, or an unfinished one.
        config: `PretrainingDataConfig`; its defaults if None.
        dynamic: bool. Whether to store token ids rather than examples.
        num_workers: int >= 1. Processes. More than one need a main module that can be
            imported (`if __name__ == "__main__":`), as always in Python.
        runner: str, one of `RUNNERS`, or None. An Apache Beam runner that does the work
            instead of `num_workers`, on one machine or on many: see `BeamPool`.
        runner_options: list of str. Its options, as on a command line.
        progress: callable `(stage, done, total)`, or None. Called with the stages in
            their order, `"tokenize"` (bytes), `"shuffle"` (files), `"examples"`
            (tokens) and `"write"` (files), as each task is done.

    Returns:
        `PretrainingDataReport`.

    Raises:
        FileExistsError: If `output_dir` holds other files, or is one.
        ValueError: If `output_dir` holds data of other arguments, if the corpus is not
            what it must be, or if no example can be made of it.
        OSError: If the disk is full. What was finished stays, for the next call.

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
    # Said now, rather than by a worker.
    make_segmenter(config.word_segmenter, tokenizer.encoder)
    corpus = open_corpus(corpus)
    folder = pathlib.Path(output_dir)
    plan = _plan(corpus, tokenizer, config, dynamic)
    finished = _check_folder(folder, plan)
    job = Job(Preparation(corpus, tokenizer.encoder, config), folder, dynamic)
    if finished:
        # The call that wrote it may have been killed before it did this.
        job.delete_work()
        return PretrainingDataReport.from_dict(finished["report"])
    if runner is None:
        pool = TaskPool(job.work, num_workers, job)
    else:
        pool = BeamPool(job.work, job, runner, runner_options)
    write_json(job.work / "plan.json", plan)
    with _kept_for_next_call(job), pool:
        shards, counts = _make_tokens(job, pool, progress)
        if not dynamic:
            counts += _make_examples(job, pool, shards, progress)
        report = PretrainingDataReport.of_counts(counts)
        _check_not_empty(report)
        if not dynamic:
            shards = _write_records(job, pool, progress)
    write_description(folder, {**plan, **_describe(job, shards, report)})
    job.delete_work()
    return report


def _make_tokens(job, pool, progress):
    """Fills the token store.

    Returns:
        Tuple of its shards, `{name: list of blocks}`, and what was counted, which for a
        store alone includes the examples of a sample.
    """
    parts = job.preparation.corpus.parts
    track = _track(progress, "tokenize", [part.num_bytes for part in parts])
    counts = pool.run("tokenized", tokenize_part, range(len(parts)), track)
    indices = range(job.num_token_shards)
    track = _track(progress, "shuffle", [1] * len(indices))
    blocks = pool.run("shuffled", shuffle_documents, indices, track)
    shutil.rmtree(job.work / "documents", ignore_errors=True)
    shards = {job.token_shard(i).name: blocks[i] for i in indices}
    if job.dynamic:
        counts += pool.run("sampled", count_block, _blocks(shards)[:_SAMPLED_BLOCKS])
    return shards, counts


def _make_examples(job, pool, token_shards, progress):
    """Makes the examples of all blocks in all passes; returns what was counted."""
    dupe_factor = job.preparation.config.dupe_factor
    tasks = [
        (place, block, range(first, min(first + _PASSES_TOGETHER, dupe_factor)))
        for place, block in _blocks(token_shards)
        for first in range(0, dupe_factor, _PASSES_TOGETHER)
    ]
    weights = [len(passes) * block["num_tokens"] for _, block, passes in tasks]
    track = _track(progress, "examples", weights)
    counts = pool.run("made", make_block, tasks, track)
    shutil.rmtree(job.work / "tokens", ignore_errors=True)
    return counts


def _write_records(job, pool, progress):
    """Writes the record files; returns `{name: {"examples": 12, ...}}`."""
    indices = range(job.preparation.config.num_shards)
    track = _track(progress, "write", [1] * len(indices))
    shards = pool.run("written", shuffle_records, indices, track)
    return {job.record_shard(i).name: shards[i] for i in indices}


def _blocks(shards):
    """Lists `((number of the shard, number in it), block)` of a whole store."""
    return [
        ((shard, index), block)
        for shard, blocks in enumerate(shards.values())
        for index, block in enumerate(blocks)
    ]


def _track(progress, stage, weights):
    """Returns a function of a finished task's number that reports on all of them."""
    if progress is None:
        return None
    total, done = sum(weights), 0
    progress(stage, 0, total)

    def track(number):
        nonlocal done
        done += weights[number]
        progress(stage, done, total)

    return track


def _plan(corpus, tokenizer, config, dynamic):
    """Returns what decides every byte of the result."""
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
    """Checks that a folder is new, or holds data of the same plan.

    Returns:
        The description of data that is finished, or None.
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
    """Tells whether work was interrupted as early as before its plan was written."""
    return path.name == UNFINISHED and not any(path.glob("[!.]*"))


def _differences(found, plan):
    """Lists what differs between a description and a plan, in words."""
    before, now = ({**p, **p["config"]} for p in ({"config": {}, **found}, plan))
    return [
        f"{name} was {before.get(name)!r} and is {value!r}"
        for name, value in now.items()
        if name != "config" and before.get(name) != value
    ]


def _check_not_empty(report):
    if not report.num_examples:
        raise ValueError(
            "The corpus must give an example. "
            f"Received: num_documents={report.num_documents}, "
            f"dropped_documents={report.dropped_documents}, "
            f"num_skipped_chunks={report.num_skipped_chunks}. Sentence pairs need two "
            'sentences a document, or `one_sentence_chunks="random_document"`.'
        )


@contextlib.contextmanager
def _kept_for_next_call(job):
    """Keeps what is finished if that is of use, and says so when the disk is full."""
    try:
        yield
    except ValueError:
        # Of what was read or found: the same call would come here again.
        job.delete_all()
        raise
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise OSError(
            error.errno,
            f"{os.strerror(error.errno)}. What is finished stays in '{job.folder}': "
            "make room and repeat the call to go on",
        ) from error
