"""Pretraining examples: cut from documents, packed and masked.

This module does not import TensorFlow. Examples depend only on their documents, the
configuration and the random number generator.
"""

import dataclasses
import warnings
from typing import NamedTuple

import numpy as np

from albert_keras.options import SEEDS, Options, Range, option
from albert_keras.pretraining import packing
from albert_keras.pretraining.documents import Documents
from albert_keras.pretraining.masking import (
    MASKING,
    MAX_LENGTH,
    derive_max_predictions,
    draw_masking,
    mask_examples,
)
from albert_keras.pretraining.pairs import (
    ONE_SENTENCE_CHUNKS,
    PAIR_CLASSES,
    PairCutter,
    SentencePairs,
    draw_pairs,
)
from albert_keras.pretraining.segmentation import SEGMENTERS
from albert_keras.tokenizers.packing import num_special_tokens

# Number of examples that are masked together; they fit in the processor's cache.
GROUP_EXAMPLES = 512


@dataclasses.dataclass(frozen=True)
class PretrainingDataConfig(Options):
    """Configuration of pretraining examples.

    Defaults are from the paper, else from google-research/albert, with four exceptions:
    `one_sentence_chunks` (as in albert_zh; the original has `"random_document"`, see its
    issue 234), `random_replacements` (the original has `"vocabulary"`), `max_predictions`
    (the original has 20; here it is 77 at length 512) and `dupe_factor` (as in BERT's
    script; ALBERT's has 40). Values out of range raise a ValueError.
    """

    sequence_length: int = option("tokens of a row", 512, Range(5, MAX_LENGTH))
    sentence_pairs: str = option(
        "second segment of a pair: sop, next or swapped; nsp, next or of a random "
        "document; ternary, next, swapped or of a random document; distant, next or "
        "far away in the same document; none, no pairs",
        "sop",
        choices=PAIR_CLASSES,
    )
    pair_gap: int = option("sentences left out between segments", 0, Range(0, 1000))
    one_sentence_chunks: str = option(
        "chunks of one sentence, which give no pair: skip them, or pair them with text "
        "of a random document",
        "skip",
        choices=ONE_SENTENCE_CHUNKS,
    )
    masking: str = option("what is masked together", "ngram", choices=MASKING)
    max_ngram: int = option("longest n-gram, in words", 3, Range(1, 128))
    favor_shorter: bool = option("draw size n with probability 1/n, or reversed", True)
    masked_rate: float = option(
        "share of tokens to predict", 0.15, Range(above=0, maximum=1)
    )
    max_predictions: int | None = option(
        "predictions per row (default: by --masked-rate)", None, Range(1, MAX_LENGTH)
    )
    random_replacements: str = option(
        "tokens that may replace a masked token: ordinary, all but special tokens; "
        "vocabulary, all",
        "ordinary",
        choices=("ordinary", "vocabulary"),
    )
    short_sequence_prob: float = option(
        "share of documents with shorter examples", 0.1, Range(0, 1)
    )
    packing: str = option(
        "one pair a row, or rows filled with pairs",
        "padded",
        choices=("padded", "filled"),
    )
    word_segmenter: str | None = option(
        "finds Chinese words, for WordPiece", None, choices=SEGMENTERS
    )
    dupe_factor: int = option(
        "passes over the documents for TFRecords", 10, Range(1, 1000)
    )
    num_shards: int = option("number of output files", 16, Range(1, 10_000))
    seed: int = option("same seed, same bytes", 0, SEEDS)

    @property
    def num_predictions(self):
        """Most predictions in an example: `max_predictions` or its default."""
        derived = derive_max_predictions(self.sequence_length, self.masked_rate)
        return self.max_predictions or derived

    @property
    def max_tokens(self):
        """Maximum number of tokens of a pair or segment, without special tokens."""
        return self.sequence_length - self.num_special

    @property
    def num_special(self):
        """Number of special tokens of a pair or segment."""
        return num_special_tokens(1 if self.sentence_pairs == "none" else 2)

    def warn_of_cut_rate(self):
        """Warns if `max_predictions` is too small for `masked_rate`."""
        needed = derive_max_predictions(self.sequence_length, self.masked_rate)
        if self.num_predictions < needed:
            warnings.warn(
                f"`max_predictions` should be at least {needed}, to mask "
                f"{self.masked_rate:.0%} of {self.sequence_length} tokens. "
                f"Received: max_predictions={self.max_predictions}.",
                stacklevel=3,
            )


def make_generator(seed, *key):
    """Returns a random generator for a seed and a key of ints."""
    sequence = np.random.SeedSequence(seed, spawn_key=key)
    return np.random.Generator(np.random.PCG64(sequence))


class Cut(NamedTuple):
    """Tokens of examples as positions in documents, before packing and masking."""

    documents: Documents
    pairs: SentencePairs
    num_skipped: int  # chunks of one sentence without a pair

    @property
    def num_examples(self):
        """Number of examples."""
        return int(self.pairs.row.max(initial=-1)) + 1


def cut_examples(documents, rng, config):
    """Cuts `Documents` into examples; returns a `Cut`."""
    draws = draw_pairs(rng, documents.num_documents, documents.num_sentences)
    cutter = PairCutter(documents, draws, config)
    if config.packing == "filled":
        return Cut(documents, *packing.fill_rows(cutter, config.sequence_length))
    return Cut(documents, *cutter.cut())


def make_examples(cut, rows, rng, encoder, config):
    """Packs and masks some examples of a `Cut`.

    Args:
        cut: `Cut`.
        rows: int64 `(num_examples,)`. Numbers of the examples, in the result's order.
        rng: `numpy.random.Generator` for the masks.
        encoder: Has `vocabulary_size()` and the ids of special tokens.
        config: `PretrainingDataConfig`.

    Returns:
        Tuple of a dict of arrays, int32 or float32 (weights), and the number of masked
        n-grams of 1, 2, ... words, int `(max_ngram,)`. The arrays are `token_ids`,
        `segment_ids`, `padding_mask`, `word_starts` `(num_examples, sequence_length)`;
        `mask_positions`, `mask_ids`, `mask_weights` `(num_examples, num_predictions)`;
        `sop_label` `(num_examples,)`. Filled rows also have `sequence_ids`
        `(num_examples, sequence_length)`, and `pair_positions`, `sop_label`, `sop_weight`
        `(num_examples, max_pairs)`.
    """
    pairs, length = cut.pairs.take_rows(rows), config.sequence_length
    marked_ids = cut.documents.marked_ids
    packed = packing.pack_pairs(pairs, len(rows), marked_ids, length, encoder)
    draws = draw_masking(rng, len(rows), length, config.num_predictions)
    arrays, run_counts = mask_examples(packed, draws, encoder, config)
    if config.packing == "filled":
        shape = len(rows), packing.max_pairs(length)
        arrays.update(_pairs_of_rows(pairs, shape))
    else:
        del arrays["sequence_ids"]
        arrays["sop_label"] = pairs.label.astype(np.int32)
    return arrays, run_counts


def _pairs_of_rows(pairs, shape):
    """Returns positions, labels and weights of the pairs in rows, of a given shape."""
    positions, labels = np.zeros((2, *shape), np.int32)
    weights = np.zeros(shape, np.float32)
    slots = pairs.row, pairs.number_in_row
    positions[slots], labels[slots], weights[slots] = pairs.column, pairs.label, 1
    return {"pair_positions": positions, "sop_label": labels, "sop_weight": weights}
