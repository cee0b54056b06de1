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
from albert_keras.files import atomic_folder

# A block of documents is in memory at once, and negatives come from the same block.
_BLOCK_DOCUMENTS = 1024
_BLOCK_CHARACTERS = 2_000_000

_SPOOL = "unshuffled"


def prepare_pretraining_data(
    documents, tokenizer, output_dir, config=None, *, progress=None
):
    """Makes sharded TFRecord files of pretraining examples from documents.

    Memory holds two blocks of documents and the examples of one, whatever the corpus.
    Examples are shuffled over all shards and passes, by way of spool files that for a
    while take about three times the room of the result (`shuffling.py`). Each document
    draws from a generator of its own, derived from the seed, the pass and its number,
    so the same arguments give the same bytes.

    Everything is written to a hidden folder beside `output_dir`, which takes that name
    once it is complete: an interrupted or failed run leaves nothing.

    `dataset.json` in it describes the set: `sequence_length`, `max_predictions`,
    `vocabulary_size`, `tokenizer_fingerprint`, `sentence_pairs`, the whole `config`,
    the `shards` with their number of examples, and the `report`.

    Args:
        documents: iterable of documents, each a list of sentences (str), for example
            `read_documents(paths)`.
        tokenizer: `AlbertTokenizer` or `WordPieceTokenizer`.
        output_dir: str or path. A new or empty folder.
        config: `PretrainingDataConfig`; its defaults if None.
        progress: callable `(stage, done, total)`, or None. Called with
            `("documents", 5000, None)`, those read, after each block and
            `("shards", 3, 16)` after each file.

    Returns:
        `PretrainingDataReport`.

    Raises:
        FileExistsError: If `output_dir` is a file or holds one, now or at the end.
        ValueError: If no example could be made of the documents.
        TypeError: If a document is a str.
    """
    config = config or PretrainingDataConfig()
    progress = progress or (lambda stage, done, total: None)
    _check_free(output_dir)
    report = PretrainingDataReport()
    with atomic_folder(output_dir) as folder:
        spool = folder / _SPOOL
        spool.mkdir()
        dtype = None
        for block in _tokenize_blocks(documents, tokenizer, config, report):
            for batch in _make_block(block, tokenizer, config):
                report.add_examples(batch)
                dtype = example_dtype(batch.arrays)
                scatter_examples(batch.arrays, spool, config.num_shards)
            progress("documents", report.num_documents, None)
        _check_not_empty(report)
        shards = {}
        for index in range(config.num_shards):
            path = shard_path(folder, index, config.num_shards)
            shards[path.name] = write_examples(path, gather_shard(spool, index, dtype))
            progress("shards", index + 1, config.num_shards)
        shutil.rmtree(spool)
        write_description(folder, _describe(config, tokenizer, shards, report))
        # Again, since hours may have passed and the folder is about to be replaced.
        _check_free(output_dir)
    return report


def _check_free(output_dir):
    output_dir = pathlib.Path(output_dir)
    found = [output_dir] if output_dir.is_file() else [*output_dir.glob("*")]
    if found:
        raise FileExistsError(
            "`output_dir` must be new or empty. "
            f"Received: output_dir='{output_dir}', with '{min(found).name}'."
        )


def _tokenize_blocks(documents, tokenizer, config, report):
    """Yields lists of `(number, TokenizedDocument)` to be worked on together.

    Each has two documents at least, so that there is another to draw from, unless the
    corpus has but one: a smaller rest is joined to the block before, which is therefore
    held back. Documents without tokens are reported and left out.
    """
    needs_two = config.sentence_pairs != "none" and config.one_sentence_chunks == "skip"
    ready, rest = [], []
    for block in _cut_into_blocks(documents):
        numbers, texts = zip(*block, strict=True)
        tokenized = tokenize_documents(texts, tokenizer)
        report.add_documents(tokenized, min_sentences=2 if needs_two else 1)
        numbered = zip(numbers, tokenized, strict=True)
        rest += [(number, d) for number, d in numbered if d.num_sentences]
        if len(rest) > 1:
            if ready:
                yield ready
            ready, rest = rest, []
    if ready or rest:
        yield ready + rest


def _cut_into_blocks(documents):
    """Yields lists of `(number, document)` to be tokenized together.

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
        if len(block) >= _BLOCK_DOCUMENTS or num_characters >= _BLOCK_CHARACTERS:
            yield block
            block, num_characters = [], 0
    if block:
        yield block


def _make_block(block, tokenizer, config):
    """Yields an `ExampleBatch` for each pass."""
    numbers, documents = zip(*block, strict=True)
    for pass_index in range(config.dupe_factor):
        yield make_examples(documents, numbers, pass_index, tokenizer, config)


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
        "tokenizer_fingerprint": tokenizer.fingerprint(),
        "sentence_pairs": config.sentence_pairs,
        "config": dataclasses.asdict(config),
        "shards": shards,
        "report": report.to_dict(),
    }
