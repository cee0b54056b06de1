"""Documents to finished pretraining examples: the part that workers run.

Nothing here imports TensorFlow, and an example depends only on its block of documents,
the configuration and the seed: not on the order in which blocks are worked on.
"""

import dataclasses
from typing import NamedTuple

import numpy as np

from albert_keras.checks import check_choice
from albert_keras.data.masking import (
    MASKING,
    MaskingDraws,
    count_predictions,
    derive_max_predictions,
    draw_masking,
    gather_predictions,
    replace_selected,
)
from albert_keras.data.packing import pack_pairs
from albert_keras.data.sentence_pairs import (
    ONE_SENTENCE_CHUNKS,
    SENTENCE_PAIRS,
    make_pairs,
)


@dataclasses.dataclass(frozen=True)
class PretrainingDataConfig:
    """How pretraining examples are made. The one home of these defaults.

    Args:
        sequence_length: int >= 5. Length of an example, in tokens. 512 as the paper.
        sentence_pairs: str, a key of `SENTENCE_PAIRS`. `"sop"` as the paper; `"nsp"` as
            BERT; `"none"` packs one segment.
        one_sentence_chunks: str, one of `ONE_SENTENCE_CHUNKS`; see `make_pairs`. The
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
        dupe_factor: int >= 1. Passes over the documents, each with fresh pairs and
            masks. 10 as BERT's script; ALBERT's has 40, four times the disk space.
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
        for name, choices in _CHOICES.items():
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
    def num_predictions(self):
        """Room for predictions in an example: `max_predictions`, or as derived."""
        if self.max_predictions is not None:
            return self.max_predictions
        return derive_max_predictions(self.sequence_length, self.masked_rate)

    @property
    def max_tokens(self):
        """Room for tokens beside the special ones of a pair, or of one segment."""
        return self.sequence_length - (2 if self.sentence_pairs == "none" else 3)


_CHOICES = {
    "sentence_pairs": SENTENCE_PAIRS,
    "one_sentence_chunks": ONE_SENTENCE_CHUNKS,
    "masking": MASKING,
    "random_replacements": ("ordinary", "vocabulary"),
}
_MINIMA = {
    "sequence_length": 5,
    "max_ngram": 1,
    "max_predictions": 1,
    "dupe_factor": 1,
    "num_shards": 1,
    "seed": 0,
}


class ExampleBatch(NamedTuple):
    """Examples, and what was counted on the way.

    Attributes:
        arrays: Dict of arrays with a leading `num_examples` axis: `token_ids`,
            `segment_ids`, `padding_mask`, `word_starts` (int32, each `sequence_length`
            wide), `mask_positions`, `mask_ids` (int32), `mask_weights` (float32, each
            `num_predictions` wide), `sop_label` (int32) and `shuffle_key` (uint64).
        run_counts: int, `(max_ngram,)`. Masked runs of 1, 2, ... words.
        num_skipped: int. Chunks left out because they are one sentence.
    """

    arrays: dict
    run_counts: np.ndarray
    num_skipped: int


def make_examples(documents, indices, pass_index, tokenizer, config):
    """Makes the examples of one block of documents in one pass.

    Args:
        documents: list of `TokenizedDocument`, none empty.
        indices: list of int. Number of each document in the corpus; with the seed and
            the pass it fixes the document's random numbers.
        pass_index: int >= 0.
        tokenizer: gives `word_starts`, `special_token_ids`, `cls_token_id`,
            `sep_token_id`, `mask_token_id`, `pad_token_id`.
        config: `PretrainingDataConfig`.

    Returns:
        `ExampleBatch`.
    """
    pairs, draws, keys, num_skipped = [], [], [], 0
    for position, index in enumerate(indices):
        rng = _document_generator(config.seed, pass_index, index)
        made, skipped = make_pairs(
            documents,
            position,
            rng,
            objective=config.sentence_pairs,
            max_tokens=config.max_tokens,
            short_sequence_prob=config.short_sequence_prob,
            one_sentence_chunks=config.one_sentence_chunks,
        )
        pairs += made
        draws.append(draw_masking(rng, len(made), config.sequence_length))
        keys.append(rng.bit_generator.random_raw(len(made)))
        num_skipped += skipped
    packed = pack_pairs(
        pairs,
        sequence_length=config.sequence_length,
        cls_token_id=tokenizer.cls_token_id,
        sep_token_id=tokenizer.sep_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    draws = MaskingDraws(*map(np.concatenate, zip(*draws, strict=True)))
    arrays, run_counts = mask_examples(packed, draws, tokenizer, config)
    arrays["sop_label"] = np.array([pair.label for pair in pairs], np.int32)
    arrays["shuffle_key"] = np.concatenate(keys)
    return ExampleBatch(arrays, run_counts, num_skipped)


def mask_examples(packed, draws, tokenizer, config):
    """Masks packed examples.

    No special token is ever predicted, `[UNK]` included (the original predicts that).

    Args:
        packed: dict, as `pack_pairs` returns it.
        draws: `MaskingDraws` of the same shape.
        tokenizer: as in `make_examples`.
        config: `PretrainingDataConfig`.

    Returns:
        Tuple of a dict, `packed` with hidden tokens and with `word_starts`,
        `mask_positions`, `mask_ids` and `mask_weights`, and the counts of masked runs.
    """
    token_ids, padding_mask = packed["token_ids"], packed["padding_mask"]
    is_special = np.zeros(len(tokenizer.word_starts), bool)
    is_special[tokenizer.special_token_ids] = True
    word_starts = (tokenizer.word_starts | is_special)[token_ids] & (padding_mask > 0)
    lengths = padding_mask.sum(axis=1)
    selected, run_counts = MASKING[config.masking](
        word_starts,
        ~is_special[token_ids],
        count_predictions(lengths, config.masked_rate, config.num_predictions),
        draws,
        max_ngram=config.max_ngram,
        favor_shorter=config.favor_shorter,
    )
    ordinary_only = config.random_replacements == "ordinary"
    visible = replace_selected(
        token_ids,
        selected,
        draws,
        mask_token_id=tokenizer.mask_token_id,
        replacement_ids=np.flatnonzero(~is_special | (not ordinary_only)),
    )
    return {
        **packed,
        "token_ids": visible,
        "word_starts": word_starts.astype(np.int32),
        **gather_predictions(token_ids, selected, config.num_predictions),
    }, run_counts


def _document_generator(seed, pass_index, document_index):
    sequence = np.random.SeedSequence(seed, spawn_key=(pass_index, document_index))
    return np.random.Generator(np.random.PCG64(sequence))
