"""Documents to finished pretraining examples: the part that workers run.

Nothing here imports TensorFlow, and examples depend only on their documents, the
configuration and the generator of random numbers they are given.
"""

import dataclasses
import warnings
from typing import NamedTuple

import numpy as np

from albert_keras.checks import check_choice
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
    num_special_tokens,
    one_a_row,
    pack_pairs,
)
from albert_keras.pretraining.pairs import (
    ONE_SENTENCE_CHUNKS,
    SENTENCE_PAIRS,
    PairCutter,
    SentencePairs,
    draw_pairs,
)
from albert_keras.tokenizers.segmentation import SEGMENTERS

# Examples masked together: enough to keep NumPy busy, few enough for the cache.
GROUP_EXAMPLES = 512


@dataclasses.dataclass(frozen=True)
class PretrainingDataConfig:
    """How pretraining examples are made. The one home of these defaults.

    Args:
        sequence_length: int in [5, 65,536]. Length of an example, in tokens. 512 as the
            paper.
        sentence_pairs: str, a key of `SENTENCE_PAIRS`. `"sop"` as the paper; `"nsp"` as
            BERT; `"none"` packs one segment.
        one_sentence_chunks: str, one of `ONE_SENTENCE_CHUNKS`; see `PairCutter`. The
            original has `"random_document"`, which mixes next-sentence negatives into
            sentence order (google-research/albert issue 234); albert_zh has `"skip"`.
        masking: str, a key of `MASKING`. `"ngram"` as the paper.
        max_ngram: int >= 1. Longest masked n-gram, in words. 3 as the paper.
        favor_shorter: bool. Sizes drawn with 1/n, as the paper, or the reverse.
        masked_rate: float in (0, 1]. Share of tokens to predict. 0.15 as the paper.
        max_predictions: int >= 1. Room for predictions in an example. By default just
            enough for `masked_rate` (77 at length 512; the original's flag says 20).
        random_replacements: str. What a random token is drawn from: `"ordinary"`, all
            but the special tokens, or `"vocabulary"`, all tokens, as the original.
        short_sequence_prob: float in [0, 1]. 0.1 as the original.
        permutation: bool. Selects as many tokens again and shuffles these among
            themselves, to be predicted too, as the original's `do_permutation`.
        packing: str. `"padded"`, one pair a row and padding behind it, as the original;
            `"filled"`, rows filled with pairs of any documents, to be trained by a
            packed model (see `AlbertPretrainer`).
        word_segmenter: str, or None. `"jieba"` finds the words of Chinese text, for a
            `WordPieceTokenizer`; by default the vocabulary tells where a word begins.
        dupe_factor: int >= 1. Passes over the documents, each with fresh pairs and
            masks. 10 as BERT's script; ALBERT's has 40, four times the disk space.
            Without a meaning where examples are made during training.
        num_shards: int >= 1. Output files.
        seed: int >= 0. The same seed gives the same bytes.

    Raises:
        ValueError: If a value is outside what is said above.
    """

    sequence_length: int = 512
    sentence_pairs: str = "sop"
    one_sentence_chunks: str = "skip"
    masking: str = "ngram"
    max_ngram: int = 3
    favor_shorter: bool = True
    masked_rate: float = 0.15
    max_predictions: int | None = None
    random_replacements: str = "ordinary"
    short_sequence_prob: float = 0.1
    permutation: bool = False
    packing: str = "padded"
    word_segmenter: str | None = None
    dupe_factor: int = 10
    num_shards: int = 16
    seed: int = 0

    def __post_init__(self):
        for name, minimum in _MINIMA.items():
            value = getattr(self, name)
            optional = name == "max_predictions" and value is None
            # Not by `isinstance`, for which True is an integer.
            if not optional and (type(value) is not int or value < minimum):
                raise ValueError(
                    f"`{name}` must be an integer of at least {minimum}. "
                    f"Received: {name}={value!r}."
                )
        if self.sequence_length > MAX_SEQUENCE_LENGTH:
            raise ValueError(
                f"`sequence_length` must be at most {MAX_SEQUENCE_LENGTH}. "
                f"Received: sequence_length={self.sequence_length}."
            )
        for name, choices in CHOICES.items():
            check_choice(name, getattr(self, name), choices)
        if not 0 < self.masked_rate <= 1:
            raise ValueError(
                "`masked_rate` must be in (0, 1]. "
                f"Received: masked_rate={self.masked_rate!r}."
            )
        if not 0 <= self.short_sequence_prob <= 1:
            raise ValueError(
                "`short_sequence_prob` must be in [0, 1]. "
                f"Received: short_sequence_prob={self.short_sequence_prob!r}."
            )

    @property
    def max_masked(self):
        """Room for masked tokens in an example: `max_predictions`, or as derived."""
        if self.max_predictions is not None:
            return self.max_predictions
        return derive_max_predictions(self.sequence_length, self.masked_rate)

    @property
    def num_predictions(self):
        """Room for predictions in an example: masked tokens and permuted ones."""
        return self.max_masked * (2 if self.permutation else 1)

    @property
    def max_tokens(self):
        """Room for tokens beside the special ones of a pair, or of one segment."""
        return self.sequence_length - num_special_tokens(self.sentence_pairs)

    def warn_of_cut_rate(self):
        """Warns if `max_predictions` leaves less than `masked_rate` of a full example.

        The original's default of 20 at length 512 does: it masks 3.9 %, not 15 %.
        """
        reached = self.max_masked / self.sequence_length
        if self.max_masked < derive_max_predictions(
            self.sequence_length, self.masked_rate
        ):
            warnings.warn(
                "`max_predictions` cuts `masked_rate`. Received: "
                f"max_predictions={self.max_predictions}, "
                f"sequence_length={self.sequence_length}, so that {reached:.1%} of a "
                f"full example is masked, not {self.masked_rate:.1%}. Leave it out to "
                "have just enough room.",
                stacklevel=3,
            )


CHOICES = {
    "sentence_pairs": SENTENCE_PAIRS,
    "one_sentence_chunks": ONE_SENTENCE_CHUNKS,
    "masking": MASKING,
    "random_replacements": ("ordinary", "vocabulary"),
    "packing": ("padded", "filled"),
    "word_segmenter": (None, *SEGMENTERS),
}
_MINIMA = {
    "sequence_length": 5,
    "max_ngram": 1,
    "max_predictions": 1,
    "dupe_factor": 1,
    "num_shards": 1,
    "seed": 0,
}


class Cut(NamedTuple):
    """Where the examples of some documents begin and end, before they are made.

    Attributes:
        documents: `Documents`.
        pairs: `SentencePairs` in them.
        places: `Places` of the pairs in the examples.
        num_skipped: int. Chunks left out because they are one sentence.
    """

    documents: Documents
    pairs: SentencePairs
    places: Places
    num_skipped: int

    @property
    def num_examples(self):
        """Number of examples."""
        return self.places.num_rows


def cut_examples(documents, rng, config):
    """Decides which tokens of documents make which example.

    Args:
        documents: `Documents`.
        rng: `numpy.random.Generator`.
        config: `PretrainingDataConfig`.

    Returns:
        `Cut`.
    """
    draws = draw_pairs(rng, documents.num_documents, documents.num_sentences)
    cutter = PairCutter(
        documents,
        draws,
        objective=config.sentence_pairs,
        max_tokens=config.max_tokens,
        short_sequence_prob=config.short_sequence_prob,
        one_sentence_chunks=config.one_sentence_chunks,
    )
    if config.packing == "filled":
        return Cut(documents, *fill_rows(cutter, config.sequence_length))
    pairs, num_skipped = cutter.cut()
    return Cut(documents, pairs, one_a_row(len(pairs.label)), num_skipped)


def make_examples(cut, rows, rng, encoder, config):
    """Makes some of the examples that have been cut.

    Args:
        cut: `Cut`.
        rows: int64, `(num_examples,)`. Which ones, in which order.
        rng: `numpy.random.Generator`. Draws the masks.
        encoder: gives `vocabulary_size()`, `special_token_ids`, `cls_token_id`,
            `sep_token_id`, `mask_token_id`, `pad_token_id`.
        config: `PretrainingDataConfig`.

    Returns:
        Tuple of a dict of arrays with a leading `num_examples` axis, and the masked
        runs of 1, 2, ... words, int `(max_ngram,)`. The arrays: `token_ids`,
        `segment_ids`, `padding_mask`, `word_starts` (int32, each `sequence_length`
        wide), `mask_positions`, `mask_ids` (int32), `mask_weights` (float32, each
        `num_predictions` wide) and `sop_label` (int32). Filled examples have
        `sequence_ids` (int32, `sequence_length` wide) and `pair_positions` (int32),
        `sop_label` and `sop_weight` (float32), each `max_pairs` wide.
    """
    indices, places = cut.places.take_rows(rows)
    pairs = cut.pairs.take(indices)
    packed = pack_pairs(
        pairs,
        places,
        cut.documents.marked_ids,
        sequence_length=config.sequence_length,
        encoder=encoder,
    )
    shape = (len(rows), config.sequence_length, config.max_masked)
    draws = [draw_masking(rng, *shape) for _ in range(1 + config.permutation)]
    arrays, run_counts = mask_examples(packed, draws, encoder, config)
    if config.packing == "filled":
        arrays.update(_pairs_of_rows(pairs, places, max_pairs(config.sequence_length)))
    else:
        del arrays["sequence_ids"]
        arrays["sop_label"] = pairs.label.astype(np.int32)
    return arrays, run_counts


def mask_examples(packed, draws, encoder, config):
    """Masks packed examples.

    No special token is ever predicted, `[UNK]` included (the original predicts that).

    Args:
        packed: dict, as `pack_pairs` returns it.
        draws: list of `MaskingDraws` of as many examples: one for the masks, and with
            `permutation` a second one for the permuted tokens.
        encoder: as in `make_examples`.
        config: `PretrainingDataConfig`.

    Returns:
        Tuple of a dict, `packed` with hidden tokens and with `padding_mask`,
        `mask_positions`, `mask_ids` and `mask_weights`, and the counts of masked runs.
    """
    token_ids, word_starts = packed["token_ids"], packed["word_starts"]
    is_special = np.zeros(encoder.vocabulary_size(), bool)
    is_special[encoder.special_token_ids] = True
    is_real = packed["sequence_ids"] > 0
    budgets = count_predictions(
        is_real.sum(axis=1), config.masked_rate, config.max_masked
    )
    maskable = ~is_special[token_ids]

    def select(draws, covered=None):
        return MASKING[config.masking](
            word_starts,
            maskable,
            budgets,
            draws,
            max_ngram=config.max_ngram,
            favor_shorter=config.favor_shorter,
            covered=covered,
        )

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
    """Lists the pairs of each filled row: where they begin, their labels."""
    first = np.searchsorted(places.rows, places.rows)
    slots = (places.rows, np.arange(len(places.rows)) - first)
    shape = (places.num_rows, width)
    positions, labels = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
    weights = np.zeros(shape, np.float32)
    positions[slots], labels[slots], weights[slots] = places.columns, pairs.label, 1
    return {"pair_positions": positions, "sop_label": labels, "sop_weight": weights}
