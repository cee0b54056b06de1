"""What was made of a corpus: counts, and the rates that show whether it went well."""

import dataclasses

import numpy as np


@dataclasses.dataclass
class PretrainingDataReport:
    """Counts over all passes, but documents over one.

    Attributes:
        num_documents: Documents read.
        dropped_documents: Number of documents that gave no example, by reason.
        num_skipped_chunks: Chunks left out because they are one sentence.
        num_examples: Examples written.
        num_tokens: Real tokens in them, special ones among these.
        num_positions: Tokens and padding: examples times sequence length.
        num_positives: Examples of label 1 (swapped, or from another document).
        num_predictions: Tokens to predict.
        run_counts: Masked runs of 1, 2, ... words, as many as `max_ngram`.
    """

    num_documents: int = 0
    dropped_documents: dict = dataclasses.field(
        default_factory=lambda: {"no_tokens": 0, "one_sentence": 0}
    )
    num_skipped_chunks: int = 0
    num_examples: int = 0
    num_tokens: int = 0
    num_positions: int = 0
    num_positives: int = 0
    num_predictions: int = 0
    run_counts: list = dataclasses.field(default_factory=list)

    @property
    def rates(self):
        """Dict of shares of 1; empty without examples.

        `real_token_share` (of all positions), `label_rate` (examples of label 1) and
        `masked_rate` (of real tokens).
        """
        if not self.num_examples:
            return {}
        return {
            "real_token_share": self.num_tokens / self.num_positions,
            "label_rate": self.num_positives / self.num_examples,
            "masked_rate": self.num_predictions / self.num_tokens,
        }

    def add_documents(self, documents, min_sentences):
        """Counts `TokenizedDocument`s, dropped with fewer than `min_sentences`."""
        num_sentences = np.array([document.num_sentences for document in documents])
        dropped = self.dropped_documents
        self.num_documents += len(documents)
        dropped["no_tokens"] += int(np.count_nonzero(num_sentences == 0))
        is_short = (num_sentences > 0) & (num_sentences < min_sentences)
        dropped["one_sentence"] += int(np.count_nonzero(is_short))

    def add_examples(self, batch):
        """Counts an `ExampleBatch`."""
        arrays = batch.arrays
        self.num_skipped_chunks += batch.num_skipped
        self.num_examples += len(arrays["sop_label"])
        self.num_tokens += int(arrays["padding_mask"].sum())
        self.num_positions += arrays["padding_mask"].size
        self.num_positives += int(arrays["sop_label"].sum())
        self.num_predictions += int(np.count_nonzero(arrays["mask_weights"]))
        counted = np.array(self.run_counts or np.zeros_like(batch.run_counts))
        self.run_counts = (counted + batch.run_counts).tolist()

    def to_dict(self):
        """Returns counts and rates as plain numbers, ready for JSON."""
        return {**dataclasses.asdict(self), **self.rates}
