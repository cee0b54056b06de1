"""What was made of a corpus: counts, and the rates that show whether it went well."""

import dataclasses

import numpy as np

_LENGTH_BINS = 16


@dataclasses.dataclass
class PretrainingDataReport:
    """Counts over all passes, but documents over one.

    Attributes:
        num_documents: Documents read.
        cut_documents: Documents that were cut in two or more for being too long.
        dropped_documents: Number of documents that gave no example, by reason.
        replaced_bytes: Runs of bytes that were not UTF-8 and were replaced.
        num_corpus_tokens: Tokens of the documents.
        num_unknown: Unknown tokens among these.
        num_skipped_chunks: Chunks left out because they are one sentence.
        num_examples: Examples made. Of those made anew in each epoch of training, these
            and all that follow are counted in a first pass over a sample of blocks.
        num_tokens: Real tokens in them, special ones among these.
        num_positions: Tokens and padding: examples times sequence length.
        num_pairs: Sentence pairs, or segments without a pair; one an example unless
            rows are filled.
        num_positives: Pairs of label 1 (swapped, or from another document).
        num_predictions: Tokens to predict.
        run_counts: Masked runs of 1, 2, ... words, as many as `max_ngram`.
        length_counts: Examples by real tokens: of up to a sixteenth of the sequence
            length, up to two, ...
    """

    num_documents: int = 0
    cut_documents: int = 0
    dropped_documents: dict = dataclasses.field(
        default_factory=lambda: {"no_tokens": 0, "one_sentence": 0}
    )
    replaced_bytes: int = 0
    num_corpus_tokens: int = 0
    num_unknown: int = 0
    num_skipped_chunks: int = 0
    num_examples: int = 0
    num_tokens: int = 0
    num_positions: int = 0
    num_pairs: int = 0
    num_positives: int = 0
    num_predictions: int = 0
    run_counts: list = dataclasses.field(default_factory=list)
    length_counts: list = dataclasses.field(default_factory=list)

    @classmethod
    def of_counts(cls, parts):
        """Sums what `count_documents` and `count_examples` gave.

        Args:
            parts: iterable of dicts.
        """
        report = cls()
        for part in parts:
            for name, value in part.items():
                setattr(report, name, _add(getattr(report, name), value))
        return report

    @classmethod
    def from_dict(cls, content):
        """Returns the report that `to_dict` gave."""
        names = [field.name for field in dataclasses.fields(cls)]
        return cls(**{name: content[name] for name in names})

    def counts(self):
        """Returns the counts as plain numbers, to be summed by `of_counts`."""
        return dataclasses.asdict(self)

    @property
    def rates(self):
        """Dict of shares of 1; without examples or tokens those of them are left out.

        `unknown_rate` (of the corpus' tokens), `real_token_share` (of all positions),
        `label_rate` (pairs of label 1), `masked_rate` (of real tokens) and `run_shares`
        (of all masked runs, those of 1, 2, ... words).
        """
        rates = {}
        if self.num_corpus_tokens:
            rates["unknown_rate"] = self.num_unknown / self.num_corpus_tokens
        if self.num_examples:
            rates["real_token_share"] = self.num_tokens / self.num_positions
            rates["label_rate"] = self.num_positives / self.num_pairs
            rates["masked_rate"] = self.num_predictions / self.num_tokens
            num_runs = max(1, sum(self.run_counts))
            rates["run_shares"] = [count / num_runs for count in self.run_counts]
        return rates

    def to_dict(self):
        """Returns counts and rates as plain numbers, ready for JSON."""
        return {**self.counts(), **self.rates}


def count_documents(documents, tokenized, num_empty, encoder, config):
    """Counts documents that were read.

    Args:
        documents: list of documents.
        tokenized: `Documents` of them.
        num_empty: int. Further documents, which have no text.
        encoder: gives `unk_token_id`.
        config: `PretrainingDataConfig`.

    Returns:
        Dict of counts.
    """
    needs_two = config.sentence_pairs != "none" and config.one_sentence_chunks == "skip"
    num_sentences = np.diff(tokenized.document_offsets)
    one_sentence = int(np.count_nonzero(num_sentences == 1)) if needs_two else 0
    unknown = np.count_nonzero(tokenized.marked_ids >> 1 == encoder.unk_token_id)
    return {
        "num_documents": len(documents) + num_empty,
        "dropped_documents": {
            "no_tokens": len(documents) + num_empty - tokenized.num_documents,
            "one_sentence": one_sentence,
        },
        "num_corpus_tokens": tokenized.num_tokens,
        "num_unknown": int(unknown),
    }


def count_examples(arrays, run_counts):
    """Counts examples that `make_examples` made.

    Args:
        arrays: dict of arrays.
        run_counts: int, `(max_ngram,)`.

    Returns:
        Dict of counts.
    """
    num_examples, sequence_length = arrays["padding_mask"].shape
    lengths = arrays["padding_mask"].sum(axis=1)
    bins = (lengths * _LENGTH_BINS - 1) // sequence_length
    num_pairs = arrays.get("sop_weight", np.ones(num_examples)).sum()
    return {
        "num_examples": num_examples,
        "num_tokens": int(lengths.sum()),
        "num_positions": arrays["padding_mask"].size,
        "num_pairs": int(num_pairs),
        "num_positives": int(arrays["sop_label"].sum()),
        "num_predictions": int(np.count_nonzero(arrays["mask_weights"])),
        "run_counts": run_counts.tolist(),
        "length_counts": np.bincount(bins, minlength=_LENGTH_BINS).tolist(),
    }


def _add(first, second):
    if isinstance(second, dict):
        return {key: first.get(key, 0) + value for key, value in second.items()}
    if isinstance(second, list):
        return [a + b for a, b in zip(first or [0] * len(second), second, strict=True)]
    return first + second
