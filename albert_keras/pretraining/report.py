"""Counts and rates of prepared pretraining data."""

import dataclasses
import itertools

import numpy as np

from albert_keras.pretraining.pairs import PAIR_CLASSES

_LENGTH_BINS = 16


@dataclasses.dataclass
class PretrainingDataReport:
    """Counts of documents, and of examples in all epochs.

    For a token store, the examples of a few blocks in one epoch are counted.

    Attributes:
        cut_documents: Number of cuts in documents that were too long.
        dropped_documents: Numbers of documents that gave no example, by reason.
        replaced_bytes: Number of replaced places that were not UTF-8.
        num_unknown: Number of unknown tokens among the `num_corpus_tokens`.
        num_skipped_chunks: Number of skipped chunks of one sentence.
        num_tokens: Number of real tokens in the examples, including special tokens.
        num_positions: Number of tokens and padding.
        num_pairs: Number of sentence pairs or single segments. An example with a filled
            row has several.
        label_counts: Numbers of pairs by the name of their class, see `PAIR_CLASSES`.
        run_counts: Numbers of masked n-grams of 1, 2, ... words.
        length_counts: Numbers of examples by real tokens, in 16 equal bins up to the
            sequence length.
    """

    num_documents: int = 0
    cut_documents: int = 0
    dropped_documents: dict = dataclasses.field(default_factory=dict)
    replaced_bytes: int = 0
    num_corpus_tokens: int = 0
    num_unknown: int = 0
    num_skipped_chunks: int = 0
    num_examples: int = 0
    num_tokens: int = 0
    num_positions: int = 0
    num_pairs: int = 0
    label_counts: dict = dataclasses.field(default_factory=dict)
    num_predictions: int = 0
    run_counts: list = dataclasses.field(default_factory=list)
    length_counts: list = dataclasses.field(default_factory=list)

    @classmethod
    def of_counts(cls, parts):
        """Returns the sum of counts, an iterable of dicts with names of attributes."""
        report = cls()
        for part in parts:
            for name, value in part.items():
                setattr(report, name, _add(getattr(report, name), value))
        return report

    @classmethod
    def from_dict(cls, content):
        """Returns the report for a result of `to_dict`, also of another version."""
        names = [field.name for field in dataclasses.fields(cls)]
        return cls(**{name: content[name] for name in names if name in content})

    @property
    def rates(self):
        """Dict of rates in [0, 1], if there are tokens and examples.

        They are the shares of unknown tokens in the corpus, of real tokens in positions,
        of the classes of pairs, of predictions in real tokens, and of n-grams by size.
        """
        rates, num_runs = {}, max(1, sum(self.run_counts))
        if self.num_corpus_tokens:
            rates["unknown_rate"] = self.num_unknown / self.num_corpus_tokens
        if self.num_examples:
            labels = self.label_counts.items()
            rates["real_token_share"] = self.num_tokens / self.num_positions
            rates["label_shares"] = {name: n / self.num_pairs for name, n in labels}
            rates["masked_rate"] = self.num_predictions / self.num_tokens
            rates["run_shares"] = [count / num_runs for count in self.run_counts]
        return rates

    def to_dict(self):
        """Returns counts and rates as a dict for JSON."""
        return {**dataclasses.asdict(self), **self.rates}


def count_documents(documents, tokenized, num_empty, encoder, config):
    """Returns the counts of a list of documents, given their tokenized `Documents`.

    There were `num_empty` more documents, without text.
    """
    needs_two = config.sentence_pairs != "none" and config.one_sentence_chunks == "skip"
    num_documents = len(documents) + num_empty
    no_tokens = num_documents - tokenized.num_documents
    is_single = needs_two & (np.diff(tokenized.document_offsets) == 1)
    is_unknown = tokenized.marked_ids >> 1 == encoder.unk_token_id
    dropped = {"no_tokens": no_tokens, "one_sentence": int(is_single.sum())}
    return {
        "num_documents": num_documents,
        "dropped_documents": dropped,
        "num_corpus_tokens": tokenized.num_tokens,
        "num_unknown": int(is_unknown.sum()),
    }


def count_examples(arrays, run_counts, config):
    """Returns the counts of the arrays and n-grams that `make_examples` returned."""
    num_examples, sequence_length = arrays["padding_mask"].shape
    lengths = arrays["padding_mask"].sum(axis=1)
    bins = (lengths * _LENGTH_BINS - 1) // sequence_length
    is_pair = arrays.get("sop_weight", np.ones(num_examples)) > 0
    classes = PAIR_CLASSES[config.sentence_pairs]
    label_counts = np.bincount(arrays["sop_label"][is_pair], minlength=len(classes))
    return {
        "num_examples": num_examples,
        "num_tokens": int(lengths.sum()),
        "num_positions": arrays["padding_mask"].size,
        "num_pairs": int(is_pair.sum()),
        "label_counts": dict(zip(classes, label_counts.tolist(), strict=False)),
        "num_predictions": int(np.count_nonzero(arrays["mask_weights"])),
        "run_counts": run_counts.tolist(),
        "length_counts": np.bincount(bins, minlength=_LENGTH_BINS).tolist(),
    }


def _add(first, second):
    if isinstance(second, dict):
        return first | {key: first.get(key, 0) + value for key, value in second.items()}
    if isinstance(second, list):
        return [a + b for a, b in itertools.zip_longest(first, second, fillvalue=0)]
    return first + second
