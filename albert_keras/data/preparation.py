"""Text to record files: pretraining data made once, before training."""

import dataclasses
import pathlib
import shutil

from albert_keras.data.documents import tokenize_documents
from albert_keras.data.examples import PretrainingDataConfig, make_examples
from albert_keras.data.records import shard_path, write_description, write_examples
from albert_keras.data.report import PretrainingDataReport
from albert_keras.data.shuffling import (
    example_dtype,
    gather_shard,
    scatter_examples,
)

# A block of documents is in memory at once, and negatives come from the same block.
_BLOCK_DOCUMENTS = 1024
_BLOCK_CHARACTERS = 2_000_000

_SPOOL = "unshuffled"


def prepare_pretraining_data(
    documents, tokenizer, output_dir, config=None, *, progress=None
):
    """Makes sharded TFRecord files of pretraining examples from documents.

    Memory holds a block of documents with its examples, whatever the corpus. Examples
    are shuffled over all shards and passes, by way of spool files in `output_dir` that
    take about three times the room of the result (`shuffling.py`). Each document draws
    from a generator of its own, derived from the seed, the pass and its number, so the
    same arguments give the same bytes.

    `dataset.json` is written last and describes the set: `sequence_length`,
    `max_predictions`, `vocabulary_size`, `sentence_pairs`, the whole `config`, the
    `shards` with their number of examples, and the `report`. A folder without it is
    unfinished, and may be written to again.

    Args:
        documents: iterable of documents, each a list of sentences (str), for example
            `read_documents(paths)`.
        tokenizer: `AlbertTokenizer` or `WordPieceTokenizer`.
        output_dir: str or path. New, empty, or left over from an interrupted run.
        config: `PretrainingDataConfig`; its defaults if None.
        progress: callable `(stage, done, total)`, or None. Called with
            `("documents", 5000, None)` after each block and `("shards", 3, 16)` after
            each file.

    Returns:
        `PretrainingDataReport`.

    Raises:
        FileExistsError: If `output_dir` holds a finished set or other files.
        ValueError: If no example could be made of the documents.
        TypeError: If a document is a str.
    """
    config = config or PretrainingDataConfig()
    progress = progress or (lambda stage, done, total: None)
    output_dir = _claim_folder(output_dir)
    spool = output_dir / _SPOOL
    spool.mkdir()
    report = PretrainingDataReport()
    try:
        dtype = None
        for block in _cut_into_blocks(documents):
            for batch in _make_block(block, tokenizer, config, report):
                report.add_examples(batch)
                dtype = example_dtype(batch.arrays)
                scatter_examples(batch.arrays, spool, config.num_shards)
            progress("documents", report.num_documents, None)
        _check_not_empty(report)
        shards = {}
        for index in range(config.num_shards):
            path = shard_path(output_dir, index, config.num_shards)
            shards[path.name] = write_examples(path, gather_shard(spool, index, dtype))
            progress("shards", index + 1, config.num_shards)
    finally:
        shutil.rmtree(spool)
    write_description(output_dir, _describe(config, tokenizer, shards, report))
    return report


def _claim_folder(output_dir):
    """Makes the folder, or frees it of what an interrupted run left."""
    output_dir = pathlib.Path(output_dir)
    output_dir.mkdir(parents=True, exist_ok=True)
    leftovers = {*output_dir.glob("*pretraining-*-of-*.tfrecord")}
    others = {*output_dir.iterdir()} - leftovers - {output_dir / _SPOOL}
    if others:
        raise FileExistsError(
            "`output_dir` must be empty or hold an unfinished data set. "
            f"Received: output_dir='{output_dir}', with '{min(others).name}'."
        )
    for path in leftovers:
        path.unlink()
    shutil.rmtree(output_dir / _SPOOL, ignore_errors=True)
    return output_dir


def _cut_into_blocks(documents):
    """Yields lists of `(number, document)` to be worked on together.

    Where a block ends depends on the documents alone, so any worker cuts alike.
    """
    block, num_characters = [], 0
    for index, document in enumerate(documents):
        if isinstance(document, str):
            raise TypeError(
                "Each document must be a list of sentences. "
                f"Received: {document[:40]!r}. For files, pass `read_documents(paths)`."
            )
        block.append((index, document))
        num_characters += sum(map(len, document))
        is_full = len(block) >= _BLOCK_DOCUMENTS or num_characters >= _BLOCK_CHARACTERS
        # Two at least, so that there is another document to draw from.
        if is_full and len(block) > 1:
            yield block
            block, num_characters = [], 0
    if block:
        yield block


def _make_block(block, tokenizer, config, report):
    """Yields an `ExampleBatch` for each pass, after reporting the documents."""
    numbers, documents = zip(*block, strict=True)
    tokenized = tokenize_documents(documents, tokenizer)
    needs_two = config.sentence_pairs != "none" and config.one_sentence_chunks == "skip"
    report.add_documents(tokenized, min_sentences=2 if needs_two else 1)
    kept = [index for index, d in enumerate(tokenized) if d.num_sentences]
    tokenized = [tokenized[index] for index in kept]
    numbers = [numbers[index] for index in kept]
    for pass_index in range(config.dupe_factor if kept else 0):
        yield make_examples(tokenized, numbers, pass_index, tokenizer, config)


def _check_not_empty(report):
    if not report.num_examples:
        raise ValueError(
            "`documents` must give an example. "
            f"Received: num_documents={report.num_documents}, "
            f"dropped_documents={report.dropped_documents}, "
            f"num_skipped_chunks={report.num_skipped_chunks}. Sentence pairs need two "
            'sentences a document, or `one_sentence_chunks="random_document"`.'
        )


def _describe(config, tokenizer, shards, report):
    return {
        "sequence_length": config.sequence_length,
        "max_predictions": config.num_predictions,
        "vocabulary_size": int(tokenizer.vocabulary_size()),
        "sentence_pairs": config.sentence_pairs,
        "config": dataclasses.asdict(config),
        "shards": shards,
        "report": report.to_dict(),
    }
