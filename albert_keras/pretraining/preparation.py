"""Preparation of pretraining data: from a corpus to files, with any number of workers.

1. Each part of the corpus is tokenized, and each document is put in a random bucket.
2. The documents of each bucket are shuffled, and written as a token store.
3. For other programs, the first `dupe_factor` epochs of its examples are written as
   TFRecords.

Buckets are shuffled in memory. All orders of the whole corpus are equally likely.

Reference: Rao 1961, Generation of random permutation of given number of elements using
random sampling numbers.
"""

import contextlib
import dataclasses
import functools
import itertools

import numpy as np

from albert_keras.checks import check_choice, check_json, shown
from albert_keras.pretraining import jobs, token_store
from albert_keras.pretraining.beam import BeamPool
from albert_keras.pretraining.examples import PretrainingDataConfig
from albert_keras.pretraining.records import shard_path
from albert_keras.pretraining.report import PretrainingDataReport
from albert_keras.pretraining.segmentation import make_segmenter
from albert_keras.pretraining.workers import TaskPool
from albert_keras.system import files
from albert_keras.system.fingerprints import first_change
from albert_keras.system.storage import delete_folder, to_path
from albert_keras.text.corpus import open_corpus

# Default share of held-out documents, with about this number of tokens at most: enough to
# measure a loss to about 0.05 nats, and fast to evaluate.
SHARE, MAX_TOKENS = 0.05, 100_000

# Number of blocks of a token store whose examples are counted for the report.
_SAMPLED_BLOCKS = 4


def prepare_pretraining_data(
    corpus,
    tokenizer,
    output_dir,
    config=None,
    *,
    format="store",
    validation_split=0,
    num_workers=1,
    runner=None,
    runner_options=(),
    progress=None,
):
    """Converts a corpus to files for pretraining.

    By default, the files are a token store, from which `pretraining_dataset` draws new
    pairs and masks in each epoch. With `format="tfrecord"`, TensorFlow writes the
    examples of `dupe_factor` such epochs as TFRecords for other programs. The same
    arguments give the same bytes for any `num_workers`. For corpora of up to 8 GB, memory
    does not depend on the size of the corpus.

    Unfinished work is in the folder `unfinished/` of the output, and takes about as much
    space as the result. After an interruption, a call with the same arguments continues
    there. A finished preparation is not repeated.

    `dataset.json` describes the result: `kind` (`"records"` or `"tokens"`), `config`,
    `vocabulary_size`, `special_token_ids`, `tokenizer_fingerprint`, `input_fingerprint`,
    `input_files` (path and fingerprint of each file), `validation_split`, `shards` and
    `report`.

    Args:
        corpus: str or path, or a list of these: files, folders, glob patterns, or
            `"tfds:NAME:SPLIT"`. Or a list of documents, each a list of str. Or a
            `Corpus` of `open_corpus`.
        tokenizer: `AlbertTokenizer` or `WordPieceTokenizer`.
        output_dir: str or path. A new or empty folder, or the folder of an earlier call.
            It may be an address, such as `"s3://bucket/data"`. Object stores have no
            locks, so do not make two calls for an address at the same time.
        config: `PretrainingDataConfig`. Default: its defaults.
        format: str. `"store"` (the default) or `"tfrecord"`.
        validation_split: float in [0, 1), or `None`. Share of the documents to hold out,
            at least one document. Their token store is the folder `held_out` of the
            output; other files do not contain them. `None` means 0.05, but at most about
            100,000 tokens. Default: 0, none.
        num_workers: int >= 1. Number of processes.
        runner: str. Apache Beam runner, one of `RUNNERS`, that replaces the `num_workers`
            processes, on one machine or many; see `BeamPool`. Default: none.
        runner_options: list of str. Options of the runner, as on its command line.
        progress: Function `(stage, done, total)`, called after each task. The stages are
            `"tokenize"` (bytes), `"shuffle"` (files), `"held_out"`, `"examples"`
            (epochs) and `"write"` (files). Default: none.

    Returns:
        `PretrainingDataReport`.

    Raises:
        FileExistsError: If `output_dir` is a file, or contains other files.
        BlockingIOError: If another call is writing to the folder.
        ValueError: If `output_dir` contains data of other arguments, the corpus is not
            valid, or it gives no example.
        TypeError: If `tokenizer` is not a tokenizer of this package.
        OSError: If the disk is full. Finished work is kept for the next call.

    Example:

    >>> import tempfile
    >>> from albert_keras.tokenizers import AlbertTokenizer, train_sentence_piece
    >>> documents = [["one small text", "and its end"], ["one more", "the same end"]]
    >>> proto = train_sentence_piece(sum(documents, []), 31)
    >>> config = PretrainingDataConfig(sequence_length=64, num_shards=1)
    >>> tokenizer, folder = AlbertTokenizer(proto), tempfile.mkdtemp()
    >>> report = prepare_pretraining_data(documents, tokenizer, folder, config)
    >>> report.num_documents, report.num_examples
    (2, 2)
    """
    check_choice("format", format, jobs.DATA_FORMATS)
    if not hasattr(tokenizer, "encoder"):
        raise TypeError(
            "`tokenizer` must be a tokenizer of this package; the order is corpus, "
            f"tokenizer, output_dir. Received: tokenizer={shown(tokenizer)}."
        )
    config = config or PretrainingDataConfig()
    config.warn_of_cut_rate()
    # Errors are raised here instead of in a worker.
    make_segmenter(config.word_segmenter, tokenizer.encoder)
    folder = to_path(output_dir)
    job = jobs.Job(open_corpus(corpus), tokenizer.encoder, config, folder, format)
    plan = _plan(job, tokenizer, validation_split)
    with contextlib.ExitStack() as claim:
        # Finished data are only read, and may be where nothing can be written.
        if token_store.read_description(folder) is None or job.work.exists():
            claim.enter_context(files.claimed_folder(folder))
            for own in (folder, job.held_out):
                files.remove_leftovers(own)
        finished = _check_folder(job, plan)
        if finished:
            # The call that finished may have been killed before it deleted these files.
            delete_folder(job.work)
            return PretrainingDataReport.from_dict(finished["report"])
        if runner is None:
            pool = TaskPool(job.work, num_workers, job)
        else:
            pool = BeamPool(job.work, job, runner, runner_options)
        files.write_json(job.work / "arguments.json", plan)
        try:
            with pool:
                run = functools.partial(pool.run, progress=progress)
                shards, report = _run_stages(job, run, plan)
        except ValueError:
            # The same call would fail again.
            job.delete_all()
            raise
        described = {"shards": shards, "report": report.to_dict()}
        token_store.write_description(folder, {**plan, **described})
        delete_folder(job.work)
        return report


def _run_stages(job, run, plan):
    """Runs all stages; returns the contents of `shards` in `dataset.json`, and report."""
    parts = job.corpus.parts
    sizes = [part.num_bytes for part in parts]
    tokenized = run("tokenize", jobs.tokenize_part, range(len(parts)), sizes)
    counts = [part["counts"] for part in tokenized]
    names = [name for part in tokenized for name in part["files"]]
    num_documents = np.sum([part["num_documents"] for part in tokenized], axis=0)
    num_held_out = 0
    if plan["validation_split"] != 0:
        report = PretrainingDataReport.of_counts(counts)
        num_held_out = count_held_out(report, plan["validation_split"])
    tasks = _shuffle_tasks(job, num_documents, num_held_out, names)
    blocks = run("shuffle", jobs.shuffle_documents, tasks)
    delete_folder(job.work / "documents")
    if num_held_out:
        _describe_held_out(job, run, plan, {tasks.pop()[0].name: blocks.pop()})
    shards = {path.name: found for (path, *_), found in zip(tasks, blocks, strict=True)}
    if job.format == "store":
        name = max(shards, key=lambda name: len(shards[name]))
        sample = {name: shards[name][:_SAMPLED_BLOCKS]}
        counts += run("examples", jobs.count_stream, [(job.store, sample)])
        return shards, _report(counts)
    tasks = [(epoch, shards) for epoch in range(job.config.dupe_factor)]
    windows = run("examples", jobs.count_windows, tasks)
    sizes = [size for epoch in windows for size in epoch["sizes"]]
    counts += [epoch["counts"] for epoch in windows]
    num_shards = job.config.num_shards
    tasks = [
        (shard_path(job.folder, index, num_shards), *examples, shards, sizes)
        for index, examples in enumerate(_divided(sum(sizes), num_shards))
    ]
    written = run("write", jobs.write_examples, tasks)
    shards = {
        path.name: {"examples": last - first, "bytes": path.stat().st_size}
        for path, first, last, *_ in tasks
    }
    return shards, _report(counts + written)


def _shuffle_tasks(job, num_documents, num_held_out, names):
    """Returns the tasks of `shuffle_documents`; the last one is for held-out documents.

    `num_documents` is int `(num_buckets,)`. The first `num_held_out` documents of the
    shuffled buckets are held out.
    """
    num_shards = min(job.config.num_shards, job.num_buckets)
    path_of = token_store.token_shard_path
    paths = [path_of(job.store, index, num_shards) for index in range(num_shards)]
    ends = num_documents.tolist()
    # (num_buckets,) documents of each bucket that are held out
    begins = np.diff(np.minimum(np.cumsum(ends), num_held_out), prepend=0).tolist()
    ranges = [*zip(itertools.count(), begins, ends)]
    shares = [ranges[slice(*share)] for share in _divided(len(ranges), num_shards)]
    if num_held_out:
        paths.append(path_of(job.held_out, 0, 1))
        shares.append([*zip(itertools.count(), itertools.repeat(0), begins)])
    return [(path, share, names) for path, share in zip(paths, shares, strict=True)]


def _divided(number, num_shares):
    """Divides a number into equal shares; yields the begin and end of each."""
    bounds = [number * index // num_shares for index in range(num_shares + 1)]
    return itertools.pairwise(bounds)


def _describe_held_out(job, run, plan, shards):
    """Counts the examples of the held-out documents; writes their `dataset.json`."""
    (counts,) = run("held_out", jobs.count_stream, [(job.held_out, shards)])
    (blocks,) = shards.values()
    counts["num_documents"] = sum(block["num_documents"] for block in blocks)
    counts["num_corpus_tokens"] = sum(block["num_tokens"] for block in blocks)
    report = _report([counts], "The held-out documents")
    described = {"shards": shards, "kind": "tokens", "report": report.to_dict()}
    token_store.write_description(job.held_out, {**plan, **described})


def count_held_out(tokenized, share=None):
    """Returns the number of documents to hold out, for the report of all documents."""
    num_documents = tokenized.num_documents - tokenized.dropped_documents["no_tokens"]
    if num_documents < 2:
        raise ValueError(
            f"Holding out needs two documents at least. Received: {num_documents}. "
            "Separate documents by blank lines, or use validation_split=0."
        )
    if share is None:
        share = min(SHARE, MAX_TOKENS / tokenized.num_corpus_tokens)
    return min(max(1, round(share * num_documents)), num_documents - 1)


def _report(counts, source="The corpus"):
    report = PretrainingDataReport.of_counts(counts)
    if not report.num_examples:
        raise ValueError(
            f"{source} must give at least one example. "
            f"Received: num_documents={report.num_documents}, "
            f"dropped_documents={report.dropped_documents}, "
            f"num_skipped_chunks={report.num_skipped_chunks}. Sentence pairs need two "
            'sentences in a document, or `one_sentence_chunks="random_document"`; '
            "held-out documents need a larger validation_split, or 0."
        )
    return report


def _plan(job, tokenizer, validation_split):
    """Returns the inputs on which every byte of the result depends."""
    fingerprints = job.corpus.file_fingerprints()
    return {
        "kind": "tokens" if job.format == "store" else "records",
        "config": dataclasses.asdict(job.config),
        "vocabulary_size": int(job.encoder.vocabulary_size()),
        "special_token_ids": [*map(int, job.encoder.special_token_ids)],
        "tokenizer_fingerprint": tokenizer.fingerprint(),
        "input_fingerprint": job.corpus.fingerprint(fingerprints),
        "input_files": fingerprints,
        "validation_split": validation_split,
    }


def _check_folder(job, plan):
    """Checks that the folder fits the plan; returns the description of finished data."""
    folder, unfinished = job.folder, job.work / "arguments.json"
    found = finished = token_store.read_description(folder)
    if not finished and unfinished.is_file():
        found = files.read_json(unfinished)
        check_json(found, {"config": dict}, unfinished)
    others = {*folder.glob("*")} - {folder / files.LOCK}
    # Work that was interrupted before its plan was written has only hidden files.
    if not any(job.work.glob("[!.]*")):
        others.discard(job.work)
    if found is None and others:
        raise FileExistsError(
            "`output_dir` must be new or empty, or contain data of the same arguments. "
            f"Received: output_dir='{folder}', with '{min(others).name}'."
        )
    if found is not None and (differences := _differences(found, plan)):
        raise ValueError(
            f"`output_dir` contains data of other arguments. Received: '{folder}', where "
            f"{', '.join(differences)}. Repeat them, or take another folder."
        )
    return finished


def _differences(found, plan):
    """Lists the differences between a description and a plan, in words."""
    before, now = ({"validation_split": 0, **p, **p["config"]} for p in (found, plan))
    differences = [
        f"{name} was {before.get(name)!r} and is {value!r}"
        for name, value in now.items()
        if name not in ("config", "input_fingerprint", "input_files")
        and before.get(name) != value
    ]
    # Only the content counts: files may have been moved.
    if before.get("input_fingerprint") != now["input_fingerprint"]:
        path = first_change(before["input_files"], now["input_files"])
        found = f"has changed in '{path}'" if path else "is read in another way"
        differences.append(f"the corpus {found}")
    return differences
