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
import os

from albert_keras.checks import check_json, shown
from albert_keras.pretraining.beam import BeamPool
from albert_keras.pretraining.examples import PretrainingDataConfig
from albert_keras.pretraining.held_out import hold_out
from albert_keras.pretraining.jobs import (
    Job,
    make_block,
    shuffle_documents,
    shuffle_records,
    tokenize_part,
)
from albert_keras.pretraining.packing import max_pairs
from albert_keras.pretraining.records import read_description, write_description
from albert_keras.pretraining.report import PretrainingDataReport
from albert_keras.pretraining.workers import TaskPool
from albert_keras.system.files import (
    LOCK,
    claimed_folder,
    read_json,
    remove_leftovers,
    write_json,
)
from albert_keras.system.fingerprints import first_change
from albert_keras.system.storage import delete_folder, to_path
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
    held_out_dir=None,
    validation_split=None,
    num_workers=1,
    runner=None,
    runner_options=(),
    progress=None,
):
    """Converts a corpus to files for pretraining.

    By default these are TFRecord files of examples, `dupe_factor` for each chunk of text.
    With `dynamic` they are token ids, and `pretraining_dataset` draws new pairs and masks
    in each epoch. The same arguments give the same bytes for any `num_workers`. Memory
    does not grow with the corpus.

    Unfinished work is in the folder `unfinished/` of the output, which takes about as
    much space as the result. After an interruption, a call with the same arguments
    continues there. A finished preparation is not repeated.

    `dataset.json` describes the result: `kind` (`"records"` or `"tokens"`),
    `sequence_length`, `max_predictions`, `vocabulary_size`, `tokenizer_fingerprint`,
    `input_fingerprint`, `input_files` (path and fingerprint by content of each),
    `sentence_pairs`, `config`, `shards` and `report`.

    Args:
        corpus: `Corpus`, or an argument of `open_corpus`.
        tokenizer: `AlbertTokenizer` or `WordPieceTokenizer`.
        output_dir: str or path. A new or empty folder, or that of an earlier call. Of an
            address, such as `"s3://bucket/data"`, no call claims the folder, because
            object stores have no locks: make no two calls at a time.
        config: `PretrainingDataConfig`, or None for its defaults.
        dynamic: bool. Whether to store token ids instead of examples.
        held_out_dir: str or path, or None. Another folder, for the token ids of
            documents that are held out: drawn by the seed, in no other file.
        validation_split: float in (0, 1), or None. Share of the documents that are held
            out, at least one. Default: 0.05, at most about 100,000 tokens.
        num_workers: int >= 1. Number of processes.
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
        BlockingIOError: If another call is writing to one of the folders.
        ValueError: If `output_dir` holds data of other arguments, the corpus is
            invalid, or it gives no example.
        OSError: If the disk is full. Finished work is kept for the next call.

    Example:

    >>> import tempfile
    >>> from albert_keras.tokenizers import AlbertTokenizer, train_sentence_piece
    >>> documents = [["one small text", "and its end"], ["one more", "the same end"]]
    >>> proto = train_sentence_piece(sum(documents, []), 31)
    >>> config = PretrainingDataConfig(sequence_length=64, dupe_factor=3, num_shards=1)
    >>> tokenizer, folder = AlbertTokenizer(proto), tempfile.mkdtemp()
    >>> report = prepare_pretraining_data(documents, tokenizer, folder, config)
    >>> report.num_documents, report.num_examples
    (2, 6)
    """
    if not hasattr(tokenizer, "encoder"):
        raise TypeError(
            "`tokenizer` must be a tokenizer of this package; the order is corpus, "
            f"tokenizer, output_dir. Received: tokenizer={shown(tokenizer)}."
        )
    config = config or PretrainingDataConfig()
    config.warn_of_cut_rate()
    # Raises errors here rather than in a worker.
    make_segmenter(config.word_segmenter, tokenizer.encoder)
    folder = to_path(output_dir)
    held_out = held_out_dir and to_path(held_out_dir)
    if held_out == folder:
        raise ValueError(
            "`held_out_dir` must be another folder than `output_dir`. "
            f"Received: '{folder}' for both."
        )
    job = Job(open_corpus(corpus), tokenizer.encoder, config, folder, dynamic, held_out)
    plan = _plan(job, tokenizer)
    if held_out:
        plan["validation_split"] = validation_split
    with contextlib.ExitStack() as claims:
        # Finished data are only read, maybe where nothing can be written.
        if read_description(folder) is None or job.work.exists():
            claims.enter_context(_claimed(folder))
        finished = _check_folder(job, plan)
        if finished:
            # The finishing call may have been killed before it deleted these.
            job.delete_work()
            return PretrainingDataReport.from_dict(finished["report"])
        if held_out:
            # After the check, because it may be in the folder.
            claims.enter_context(_claimed(held_out))
        if runner is None:
            pool = TaskPool(job.work, num_workers, job)
        else:
            pool = BeamPool(job.work, job, runner, runner_options)
        write_json(job.work / "plan.json", plan)
        with _kept_for_next_call(job), pool:
            run = functools.partial(pool.run, progress=progress)
            shards, report = _run_stages(job, run, plan)
        write_description(folder, {**plan, **_describe(job, shards, report)})
        job.delete_work()
        return report


@contextlib.contextmanager
def _claimed(folder):
    """Claims a folder for this call; workers on any machine write for it alone."""
    if folder.is_file():
        raise FileExistsError(
            f"The output of a preparation must be a folder. Received: '{folder}', a file."
        )
    with claimed_folder(folder):
        remove_leftovers(folder)
        yield


def _run_stages(job, run, plan):
    """Runs all stages; returns the contents of `shards` in `dataset.json`, and report."""
    parts, first_key = job.corpus.parts, 0
    sizes = [part.num_bytes for part in parts]
    tokenized = run("tokenize", tokenize_part, range(len(parts)), sizes)
    counts, num_runs = _sum_up(tokenized)
    if job.held_out_folder:
        share = plan["validation_split"]
        first_key, *held_out = hold_out(job, counts, num_runs, share, run)
        described = {**plan, "kind": "tokens", **_describe(job.of_held_out, *held_out)}
        write_description(job.held_out_folder, described)
    tasks = [(index, first_key, num_runs) for index in range(job.num_token_shards)]
    shards = run("shuffle", shuffle_documents, tasks)
    delete_folder(job.work / "documents")
    blocks = [
        ((shard, index), block)
        for shard, shard_blocks in enumerate(shards)
        for index, block in enumerate(shard_blocks)
    ]
    num_passes = job.config.dupe_factor
    if job.dynamic:
        blocks, num_passes = blocks[:_SAMPLED_BLOCKS], 1
    tasks = [
        (place, block, range(first, min(first + _PASSES_TOGETHER, num_passes)))
        for place, block in blocks
        for first in range(0, num_passes, _PASSES_TOGETHER)
    ]
    weights = [len(passes) * block["num_tokens"] for _, block, passes in tasks]
    new_counts, num_runs = _sum_up(run("examples", make_block, tasks, weights))
    report = PretrainingDataReport.of_counts(counts + new_counts)
    if not report.num_examples:
        raise ValueError(
            "The corpus must give at least one example. "
            f"Received: num_documents={report.num_documents}, "
            f"dropped_documents={report.dropped_documents}, "
            f"num_skipped_chunks={report.num_skipped_chunks}. Sentence pairs need two "
            'sentences a document, or `one_sentence_chunks="random_document"`.'
        )
    if not job.dynamic:
        delete_folder(job.work / "tokens")
        tasks = [(index, num_runs) for index in range(job.config.num_shards)]
        shards = run("write", shuffle_records, tasks)
    names = [path.name for path in job.shards]
    return dict(zip(names, shards, strict=True)), report


def _sum_up(made):
    """Returns the counts of tasks that wrote run files, and the number of these."""
    return [part["counts"] for part in made], sum(part["num_runs"] for part in made)


def _plan(job, tokenizer):
    """Returns the inputs that decide every byte of the result."""
    files = job.corpus.file_fingerprints()
    return {
        "kind": "tokens" if job.dynamic else "records",
        "config": dataclasses.asdict(job.config),
        "tokenizer_fingerprint": tokenizer.fingerprint(),
        "input_fingerprint": job.corpus.fingerprint(files),
        "input_files": files,
    }


def _describe(job, shards, report):
    """Returns what `dataset.json` has beside the plan."""
    config = job.config
    is_filled = config.packing == "filled"
    return {
        "sequence_length": config.sequence_length,
        "max_predictions": config.num_predictions,
        "max_pairs": max_pairs(config.sequence_length) if is_filled else 0,
        "vocabulary_size": int(job.encoder.vocabulary_size()),
        "special_token_ids": list(map(int, job.encoder.special_token_ids)),
        "sentence_pairs": config.sentence_pairs,
        "shards": shards,
        "report": report.to_dict(),
    }


def _check_folder(job, plan):
    """Checks that the folder is new or of the plan; returns a finished description."""
    folder = job.folder
    finished = read_description(folder)
    found = _read_plan(job) if finished is None else finished
    expected = [folder / LOCK, job.held_out_folder]
    # Work that was interrupted before its plan was written has no visible file.
    if not any(job.work.glob("[!.]*")):
        expected.append(job.work)
    others = sorted({*folder.glob("*")}.difference(expected))
    if found is None and others:
        raise FileExistsError(
            "`output_dir` must be new or empty, or hold data of the same arguments. "
            f"Received: output_dir='{folder}', with '{others[0].name}'."
        )
    if found is not None and (differences := _differences(found, plan)):
        raise ValueError(
            "`output_dir` holds data that was prepared with other arguments. Received: "
            f"output_dir='{folder}', where {', '.join(differences)}. Repeat them, "
            "delete the folder, or take another."
        )
    return finished


def _read_plan(job):
    """Returns the plan of unfinished work, or None if there is none."""
    path = job.work / "plan.json"
    if not path.is_file():
        return None
    plan = read_json(path)
    check_json(plan, {"config": dict}, path)
    return plan


def _differences(found, plan):
    """Lists the differences between a description and a plan, in words."""
    before, now = (
        {"validation_split": 0, **p, **p["config"]}
        for p in ({"config": {}, **found}, plan)
    )
    differences = [
        f"{name} was {before.get(name)!r} and is {value!r}"
        for name, value in now.items()
        if name not in ("config", "input_fingerprint", "input_files")
        and before.get(name) != value
    ]
    if change := _change_of_corpus(before, now):
        differences.append(change)
    return differences


def _change_of_corpus(before, now):
    """Returns how a corpus has changed, in words, or None if only paths or times have."""
    fingerprint = before.get("input_fingerprint")
    if fingerprint == now["input_fingerprint"]:
        return None
    if path := first_change(before["input_files"], now["input_files"]):
        return f"the corpus has changed in '{path}'"
    return "the corpus was read with another format, text_column or errors"


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
