"""Held-out documents of a corpus: how many, and the token store that they make.

Documents are shuffled by random keys; those with the smallest keys are held out. They are
in no other file, so that they measure a model that is trained on the others.
"""

from typing import NamedTuple

from albert_keras.pretraining.jobs import hold_documents_out
from albert_keras.pretraining.report import PretrainingDataReport

# By default this share of the documents is held out, with about as many tokens at most:
# enough to know a loss to about 0.05 nats, and soon evaluated.
SHARE, MAX_TOKENS = 0.05, 100_000


class HeldOut(NamedTuple):
    """The store of held-out documents, and the smallest key of the others."""

    first_key: int
    shards: dict
    report: PretrainingDataReport


def hold_out(job, counts, num_runs, share, run):
    """Writes the held-out documents of tokenized ones; returns `HeldOut`.

    Args:
        job: `Job`.
        counts: list of dicts, from `tokenize_part`.
        num_runs: int. Number of run files that it wrote.
        share: float in (0, 1), or None for `SHARE` and `MAX_TOKENS`.
        run: Function that runs tasks, of a pool.

    Raises:
        ValueError: If there is one document, or the held-out ones give no example.
    """
    tokenized = PretrainingDataReport.of_counts(counts)
    num_held_out = count_held_out(tokenized, share)
    (made,) = run("held_out", hold_documents_out, [(num_held_out, num_runs)])
    report = PretrainingDataReport.of_counts([made["counts"]])
    report.num_documents = num_held_out
    report.num_corpus_tokens = sum(block["num_tokens"] for block in made["blocks"])
    if not report.num_examples:
        raise ValueError(
            "The held-out documents must give at least one example. Received: none of "
            f"{num_held_out}. Hold more of them out by validation_split, or none: "
            "validation_split=0."
        )
    shards = {job.of_held_out.shards[0].name: made["blocks"]}
    return HeldOut(made["first_key"], shards, report)


def count_held_out(tokenized, share=None):
    """Returns the number of documents to hold out, by the report of all."""
    num_documents = tokenized.num_documents - tokenized.dropped_documents["no_tokens"]
    if num_documents < 2:
        raise ValueError(
            "To hold a document out there must be two at least. Received: "
            f"{num_documents}. Separate documents of text by blank lines, or hold none "
            "out: validation_split=0."
        )
    if share is None:
        share = min(SHARE, MAX_TOKENS / tokenized.num_corpus_tokens)
    return min(max(1, round(share * num_documents)), num_documents - 1)
