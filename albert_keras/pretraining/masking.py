"""Masking of tokens: n-gram, whole-word and token masking, for batches of examples.

The random numbers are arguments (`MaskingDraws`), so the masks of an example depend only
on its own numbers, not on the rest of the batch.
"""

from typing import NamedTuple

import numpy as np

MASK_RATE, KEEP_RATE = 0.8, 0.1

# A sort key has a rank and a column, of 16 bits each. `_NO_WORD` sorts after all words.
MAX_LENGTH = 2**16
_NUM_RANKS = 2**16 - 1
_COLUMN = np.uint32(2**16 - 1)
_NO_WORD = np.uint32(_NUM_RANKS << 16)

# Words of an example that are tried in one block; few examples need a second block.
_WORDS_TOGETHER = 64

# Length of an n-gram that does not exist: above any budget.
_TOO_LONG = 2**40


class MaskingDraws(NamedTuple):
    """Random numbers for a batch of examples.

    N-grams are tried in the order of their ranks; of equal ranks, the left one is first.
    """

    order: np.ndarray  # uint16 < 65,535, (batch, sequence_length): rank of an n-gram
    size: np.ndarray  # float32 in [0, 1), (batch, sequence_length): its words
    action: np.ndarray  # float32, (batch, max_predictions): [MASK], itself or random
    replacement: np.ndarray  # float32, (batch, max_predictions): the random token


def draw_masking(rng, num_examples, sequence_length, max_predictions):
    """Returns `MaskingDraws` from a generator."""
    positions = (num_examples, sequence_length)
    predictions = (2, num_examples, max_predictions)
    return MaskingDraws(
        rng.integers(0, _NUM_RANKS, positions, np.uint16),
        rng.random(positions, np.float32),
        *rng.random(predictions, np.float32),
    )


def derive_max_predictions(sequence_length, masked_rate):
    """Returns the number of predictions that a full example needs.

    >>> derive_max_predictions(512, 0.15), derive_max_predictions(128, 0.15)
    (77, 19)
    """
    return max(1, round(sequence_length * masked_rate))


def select_ngrams(
    word_starts, maskable, budgets, draws, *, max_ngram, favor_shorter=True
):
    """Selects n-grams of one to `max_ngram` whole words in each example.

    Words are tried in random order. An n-gram that begins at a word has n words with
    probability proportional to 1/n, or fewer if the budget is too small or the next token
    cannot be masked. It is skipped if one of its words is already selected.

    Args:
        word_starts: bool `(batch, sequence_length)`. Whether a token begins a word.
        maskable: bool `(batch, sequence_length)`. False for padding and special tokens;
            the first token of each example must be a special token.
        budgets: int `(batch,)`. Maximum number of tokens to select.
        draws: `MaskingDraws`.
        max_ngram: int >= 1. Maximum number of words of an n-gram.
        favor_shorter: bool. If false, longer n-grams are more probable.

    Returns:
        Tuple of the selection, bool `(batch, sequence_length)`, and the number of
        n-grams of 1, 2, ... words, int `(max_ngram,)`.

    Reference: Lan et al. 2020, section 4.1; google-research/albert
    `create_masked_lm_predictions`. Two differences: no word or n-gram crosses a special
    token (in the original they cross `[SEP]`), and words have 65,535 ranks.
    """
    batch, sequence_length = maskable.shape
    words = _find_words(word_starts, maskable)
    keys = _sort_words(words, draws.order)  # (batch, sequence_length)
    word_at = np.zeros(maskable.size, np.int64)  # word number at a flat position
    word_at[words.starts] = np.arange(len(words.starts))
    # (batch,)
    num_words = np.bincount(words.starts // sequence_length, minlength=batch)
    # (num_words + max_ngram,), because n-grams of the last words are looked up too
    selected = np.zeros(len(words.starts) + max_ngram, bool)
    # Cumulative probabilities of the sizes, (max_ngram,)
    weights = 1 / np.arange(1, max_ngram + 1)
    weights = weights if favor_shorter else weights[::-1]
    thresholds = np.cumsum(weights / weights.sum())

    size_draws, ngram_counts = draws.size.ravel(), np.zeros(max_ngram + 1, int)
    active, remaining, begin = np.flatnonzero(num_words), np.array(budgets), 0
    while active.size:
        # Next words of the active examples, (steps, active)
        tried = keys[active, begin : begin + _WORDS_TOGETHER].T
        first_words = word_at[active * sequence_length + (tried & _COLUMN)]
        # (max_ngram + 1, steps, active)
        is_word = tried != _NO_WORD
        lengths = _ngram_lengths(words, first_words, is_word, size_draws, thresholds)
        budget = remaining[active]
        # Each step tries one word in every example.
        for first, length in zip(first_words, lengths.swapaxes(0, 1), strict=True):
            # first: (active,), length: (max_ngram + 1, active)
            size = np.count_nonzero(length[1:] <= budget, axis=0)
            size[_overlaps(selected, first, size)] = 0
            budget -= length[size, np.arange(len(size))]
            for n in range(max_ngram):
                selected[first[size > n] + n] = True
            ngram_counts += np.bincount(size, minlength=max_ngram + 1)
            if not budget.any():
                break
        remaining[active] = budget
        begin += _WORDS_TOGETHER
        active = active[(budget > 0) & (num_words[active] > begin)]
    return words.to_tokens(selected, maskable), ngram_counts[1:]


def select_whole_words(*arguments, **options):
    """Selects single whole words; arguments as for `select_ngrams`."""
    return select_ngrams(*arguments, **{**options, "max_ngram": 1})


def select_tokens(word_starts, *arguments, **options):
    """Selects single tokens; arguments as for `select_ngrams`."""
    return select_whole_words(np.ones_like(word_starts), *arguments, **options)


def replace_selected(token_ids, selected, draws, mask_token_id, replacement_ids):
    """Replaces selected tokens: 80 % `[MASK]`, 10 % unchanged, 10 % random tokens.

    As in the original, each token is drawn separately, also within an n-gram.

    Args:
        token_ids: int32 `(batch, sequence_length)`.
        selected: bool `(batch, sequence_length)`.
        draws: `MaskingDraws`.
        mask_token_id: int.
        replacement_ids: Array of the ids of possible random tokens.

    Returns:
        int32 `(batch, sequence_length)`, the input of the model.
    """
    is_used = _used_slots(selected, draws.action.shape[1])
    action = draws.action[is_used]  # (num_selected,), as are all arrays below
    # float64, because float32 could round the product up to the number of ids.
    choice = draws.replacement[is_used].astype(np.float64) * len(replacement_ids)
    hidden = np.where(
        action < MASK_RATE + KEEP_RATE,
        token_ids[selected],
        replacement_ids[choice.astype(int)],
    )
    hidden[action < MASK_RATE] = mask_token_id
    visible = token_ids.copy()
    visible[selected] = hidden
    return visible


def gather_predictions(token_ids, selected, max_predictions):
    """Gathers positions and ids of the selected tokens, padded with zeros.

    Returns:
        Dict of `(batch, max_predictions)` arrays: `mask_positions` (int32, ascending),
        `mask_ids` (int32) and `mask_weights` (float32, 1 = a prediction).
    """
    is_used = _used_slots(selected, max_predictions)
    positions, ids = np.zeros((2, *is_used.shape), np.int32)
    positions[is_used] = np.nonzero(selected)[1]
    ids[is_used] = token_ids[selected]
    weights = is_used.astype(np.float32)
    return {"mask_positions": positions, "mask_ids": ids, "mask_weights": weights}


def _used_slots(selected, num_slots):
    """Returns which slots are used, one for each selected token, `(batch, num_slots)`."""
    return np.arange(num_slots) < np.count_nonzero(selected, axis=1)[:, None]


class _Words(NamedTuple):
    """Words of a flattened batch: the tokens from `starts` to `stops` (exclusive)."""

    is_start: np.ndarray  # (batch * sequence_length,) whether a token begins a word
    starts: np.ndarray  # (num_words,)
    stops: np.ndarray  # (num_words,)
    is_joined: np.ndarray  # (num_words,) whether the next word begins at `stops`

    def to_tokens(self, selected, maskable):
        """Returns the tokens of selected words, bool `(batch, sequence_length)`."""
        word_of_token = np.cumsum(self.is_start).reshape(maskable.shape) - 1
        tokens = np.zeros_like(maskable)
        tokens[maskable] = selected[word_of_token[maskable]]
        return tokens


def _find_words(word_starts, maskable):
    is_start = maskable & word_starts
    # A token after a special token always begins a word.
    is_start[:, 1:] |= maskable[:, 1:] & ~maskable[:, :-1]
    is_start = is_start.ravel()
    boundaries = np.flatnonzero(is_start | ~maskable.ravel())
    is_word = is_start[boundaries]
    starts = boundaries[is_word]
    stops = np.append(boundaries[1:], maskable.size)[is_word]
    is_joined = np.append(stops[:-1] == starts[1:], False)
    return _Words(is_start, starts, stops, is_joined)


def _sort_words(words, ranks):
    """Returns the sorted keys of each example, with `_NO_WORD` after the last word."""
    # Keys are unique and sort faster than with `argsort`.
    keys = np.full(ranks.size, _NO_WORD)
    columns = (words.starts % ranks.shape[1]).astype(np.uint32)
    keys[words.starts] = ranks.ravel()[words.starts].astype(np.uint32) << 16 | columns
    return np.sort(keys.reshape(ranks.shape), axis=1)


def _ngram_lengths(words, first_words, is_word, size_draws, thresholds):
    """Returns the numbers of tokens of the n-grams from `first_words`, by size in words.

    They are 0 for size 0, and `_TOO_LONG` above the drawn size and after the end of the
    text. The shape is `(max_ngram + 1, *first_words.shape)`.
    """
    lengths = np.zeros((len(thresholds) + 1, *first_words.shape), int)
    starts = words.starts[first_words]
    drawn = size_draws[starts]
    exists, last = is_word, first_words
    for size, threshold in enumerate(thresholds, start=1):
        lengths[size] = np.where(exists, words.stops[last] - starts, _TOO_LONG)
        exists = exists & words.is_joined[last] & (drawn >= threshold)
        last = last + exists
    return lengths


def _overlaps(selected, first_words, sizes):
    """Returns which n-grams of `sizes` words are empty or contain a selected word."""
    overlaps = selected[first_words] | (sizes == 0)
    for n in range(1, sizes.max(initial=0)):
        overlaps |= selected[first_words + n] & (sizes > n)
    return overlaps


MASKING = {
    "token": select_tokens,
    "whole_word": select_whole_words,
    "ngram": select_ngrams,
}


def mask_examples(packed, draws, encoder, config):
    """Masks the result of `pack_pairs`.

    Special tokens are never predicted, including `[UNK]` (the original predicts `[UNK]`).

    Args:
        packed: Dict of arrays from `pack_pairs`.
        draws: `MaskingDraws`.
        encoder: Has `vocabulary_size()` and the ids of special tokens.
        config: `PretrainingDataConfig`.

    Returns:
        Tuple of the dict with `padding_mask` and predictions added, and the number of
        masked n-grams by size.
    """
    # (batch, sequence_length)
    token_ids, word_starts = packed["token_ids"], packed["word_starts"]
    is_real = packed["sequence_ids"] > 0
    is_special = np.zeros(encoder.vocabulary_size(), bool)  # (vocabulary_size,)
    is_special[encoder.special_token_ids] = True
    maskable = ~is_special[token_ids]  # (batch, sequence_length)
    # (batch,) most predictions; special tokens are counted, as in the original
    budgets = np.rint(is_real.sum(axis=1) * config.masked_rate).astype(int)
    budgets = np.clip(budgets, 1, config.num_predictions)
    sizes = {"max_ngram": config.max_ngram, "favor_shorter": config.favor_shorter}
    select = MASKING[config.masking]
    selected, run_counts = select(word_starts, maskable, budgets, draws, **sizes)
    ordinary_only = config.random_replacements == "ordinary"
    ids = np.flatnonzero(~is_special | (not ordinary_only))
    visible = replace_selected(token_ids, selected, draws, encoder.mask_token_id, ids)
    return {
        **packed,
        "token_ids": visible,
        "padding_mask": is_real.astype(np.int32),
        "word_starts": word_starts.astype(np.int32),
        **gather_predictions(token_ids, selected, config.num_predictions),
    }, run_counts
