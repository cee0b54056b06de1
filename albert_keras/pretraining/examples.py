"""Pretraining examples: cut from documents, packed and masked.

Nothing here imports TensorFlow. Examples depend only on their documents, the
configuration and the random number generator.
"""

import dataclasses
import warnings
from typing import NamedTuple

import numpy as np

from albert_keras.options import MAX_SEED, Options, option
from albert_keras.pretraining.documents import Documents
from albert_keras.pretraining.masking import (
    MASKING,
    MAX_SEQUENCE_LENGTH,
    count_predictions,
    derive_max_predictions,
    draw_masking,
    gather_predictions,
    permute_selected,
    replace_selected,
)
from albert_keras.pretraining.packing import (
    Places,
    fill_rows,
    max_pairs,
    one_a_row,
    pack_pairs,
)
from albert_keras.pretraining.pairs import (
    ONE_SENTENCE_CHUNKS,
    PAIR_CLASSES,
    PairCutter,
    SentencePairs,
    draw_pairs,
)
from albert_keras.tokenizers.packing import num_special_tokens
from albert_keras.tokenizers.segmentation import SEGMENTERS

# Examples masked together: few enough to fit in the processor's cache.
GROUP_EXAMPLES = 512


@dataclasses.dataclass(frozen=True)
class PretrainingDataConfig(Options):
    """Configuration of pretraining examples.

    Defaults are the paper's, and where it is silent those of google-research/albert, but
    for `one_sentence_chunks` (that of albert_zh; the original's is `"random_document"`,
    see its issue 234), `random_replacements` (there `"vocabulary"`), `max_predictions`
    (there 20, here 77 at length 512) and `dupe_factor` (of BERT's script; ALBERT's: 40).
    A value out of range is a ValueError.
    """

    sequence_length: int = option(
        "tokens of an example", 512, minimum=5, maximum=MAX_SEQUENCE_LENGTH
    )
    sentence_pairs: str = option(
        "what a pair's label says, see `PairCutter`; none packs one text",
        "sop",
        choices=PAIR_CLASSES,
    )
    pair_gap: int = option(
        "sentences left out between the segments of a pair", 0, minimum=0, maximum=1000
    )
    one_sentence_chunks: str = option(
        "chunks that make no pair; see `PairCutter`",
        "skip",
        choices=ONE_SENTENCE_CHUNKS,
    )
    masking: str = option("what is masked together", "ngram", choices=MASKING)
    max_ngram: int = option(
        "longest masked n-gram, in words", 3, minimum=1, maximum=128
    )
    favor_shorter: bool = option("draw size n with probability 1/n, or reversed", True)
    masked_rate: float = option("share of tokens to predict", 0.15, above=0, maximum=1)
    max_predictions: int | None = option(
        "most predictions in an example (default: by --masked-rate)",
        None,
        minimum=1,
        maximum=MAX_SEQUENCE_LENGTH,
    )
    random_replacements: str = option(
        "draw from ordinary pieces, or as the original from the whole vocabulary",
        "ordinary",
        choices=("ordinary", "vocabulary"),
    )
    short_sequence_prob: float = option(
        "share of documents with shorter examples", 0.1, minimum=0, maximum=1
    )
    permutation: bool = option(
        "shuffle as many tokens again among themselves, to be predicted too", False
    )
    packing: str = option(
        "one pair and padding in each row, or rows filled with pairs of any documents",
        "padded",
        choices=("padded", "filled"),
    )
    word_segmenter: str | None = option(
        "finds words of Chinese text, for WordPiece (default: none)",
        None,
        choices=SEGMENTERS,
    )
    dupe_factor: int = option(
        "passes over the documents, each with new pairs and masks",
        10,
        minimum=1,
        maximum=1000,
    )
    num_shards: int = option("number of output files", 16, minimum=1, maximum=10_000)
    seed: int = option(
        "the same seed gives the same bytes", 0, minimum=0, maximum=MAX_SEED
    )

    @property
    def max_masked(self):
        """Most masked tokens in an example: `max_predictions` or its default."""
        if self.max_predictions is not None:
            return self.max_predictions
        return derive_max_predictions(self.sequence_length, self.masked_rate)

    @property
    def num_predictions(self):
        """Most predictions in an example: masked and permuted tokens."""
        return self.max_masked * (2 if self.permutation else 1)

    @property
    def max_tokens(self):
        """Most tokens of a pair or single segment, without special tokens."""
        return self.sequence_length - self.num_special

    @property
    def num_special(self):
        """Number of special tokens of a pair or single segment."""
        return num_special_tokens(1 if self.sentence_pairs == "none" else 2)

    def warn_of_cut_rate(self):
        """Warns if `max_predictions` is too small for `masked_rate`."""
        needed = derive_max_predictions(self.sequence_length, self.masked_rate)
        if self.max_masked < needed:
            warnings.warn(
                "`max_predictions` cuts `masked_rate`. Received: "
                f"max_predictions={self.max_predictions}, "
                f"sequence_length={self.sequence_length}, so that "
                f"{self.max_masked / self.sequence_length:.1%} of a full example is "
                f"masked, not {self.masked_rate:.1%}. Use at least {needed}, or the "
                "default.",
                stacklevel=3,
            )


def make_generator(seed, *key):
    """Returns a random generator for a seed and a key of int."""
    sequence = np.random.SeedSequence(seed, spawn_key=key)
    return np.random.Generator(np.random.PCG64(sequence))


class Cut(NamedTuple):
    """Tokens of examples as positions in documents, before packing and masking."""

    documents: Documents
    pairs: SentencePairs
    places: Places  # of the pairs in the examples' rows
    num_skipped: int  # chunks of one sentence that gave no pair

    @property
    def num_examples(self):
        """Number of examples."""
        return self.places.num_rows


def cut_examples(documents, rng, config):
    """Cuts `Documents` into examples; returns a `Cut`."""
    draws = draw_pairs(rng, documents.num_documents, documents.num_sentences)
    cutter = PairCutter(documents, draws, config)
    if config.packing == "filled":
        return Cut(documents, *fill_rows(cutter, config.sequence_length))
    pairs, num_skipped = cutter.cut()
    return Cut(documents, pairs, one_a_row(len(pairs.label)), num_skipped)


def make_examples(cut, rows, rng, encoder, config):
    """Packs and masks some examples of a `Cut`.

    Args:
        cut: `Cut`.
        rows: int64 `(num_examples,)`. Numbers of the examples, in the result's order.
        rng: `numpy.random.Generator`. Draws the masks.
        encoder: Has `vocabulary_size()`, `special_token_ids` and the single ids.
        config: `PretrainingDataConfig`.

    Returns:
        Tuple of a dict of arrays, int32 or float32 (weights), and the number of masked
        n-grams of 1, 2, ... words, int `(max_ngram,)`. The arrays are `token_ids`,
        `segment_ids`, `padding_mask`, `word_starts` `(num_examples, sequence_length)`;
        `mask_positions`, `mask_ids`, `mask_weights` `(num_examples, num_predictions)`;
        `sop_label` `(num_examples,)`. Filled rows also have `sequence_ids`, and
        `pair_positions`, `sop_label`, `sop_weight` `(num_examples, max_pairs)`.
    """
    indices, places = cut.places.take_rows(rows)
    pairs = cut.pairs.take(indices)
    length, marked_ids = config.sequence_length, cut.documents.marked_ids
    packed = pack_pairs(pairs, places, marked_ids, length, encoder)
    shape = (len(rows), length, config.max_masked)
    draws = [draw_masking(rng, *shape) for _ in range(1 + config.permutation)]
    arrays, run_counts = mask_examples(packed, draws, encoder, config)
    if config.packing == "filled":
        arrays.update(_pairs_of_rows(pairs, places, max_pairs(length)))
    else:
        del arrays["sequence_ids"]
        arrays["sop_label"] = pairs.label.astype(np.int32)
    return arrays, run_counts


def mask_examples(packed, draws, encoder, config):
    """Masks the result of `pack_pairs`, and adds `padding_mask` and predictions.

    Special tokens are never predicted, `[UNK]` included (the original predicts that).
    The `draws` are `MaskingDraws` for masks and, with `permutation`, for permuted tokens.
    Also returns the number of masked n-grams of 1, 2, ... words.
    """
    # (batch, sequence_length)
    token_ids, word_starts = packed["token_ids"], packed["word_starts"]
    is_real = packed["sequence_ids"] > 0
    is_special = np.zeros(encoder.vocabulary_size(), bool)  # (vocabulary_size,)
    is_special[encoder.special_token_ids] = True
    maskable = ~is_special[token_ids]  # (batch, sequence_length)
    budgets = count_predictions(  # (batch,)
        is_real.sum(axis=1), config.masked_rate, config.max_masked
    )

    def select(draws, covered=None):
        batch = word_starts, maskable, budgets, draws
        sizes = {"max_ngram": config.max_ngram, "favor_shorter": config.favor_shorter}
        return MASKING[config.masking](*batch, **sizes, covered=covered)

    selected, run_counts = select(draws[0])
    ordinary_only = config.random_replacements == "ordinary"
    visible = replace_selected(
        token_ids,
        selected,
        draws[0],
        mask_token_id=encoder.mask_token_id,
        replacement_ids=np.flatnonzero(~is_special | (not ordinary_only)),
    )
    if config.permutation:
        permuted, _ = select(draws[1], covered=selected)
        visible = permute_selected(visible, permuted, draws[1])
        selected = selected | permuted
    return {
        **packed,
        "token_ids": visible,
        "padding_mask": is_real.astype(np.int32),
        "word_starts": word_starts.astype(np.int32),
        **gather_predictions(token_ids, selected, config.num_predictions),
    }, run_counts


def _pairs_of_rows(pairs, places, width):
    """Returns positions, labels and weights of each row's pairs, `(num_rows, width)`."""
    shape = (places.num_rows, width)
    positions, labels = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
    weights = np.zeros(shape, np.float32)
    slots = places.rows, places.number_in_row()
    positions[slots], labels[slots], weights[slots] = places.columns, pairs.label, 1
    return {"pair_positions": positions, "sop_label": labels, "sop_weight": weights}
