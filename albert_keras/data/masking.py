"""Masked-token prediction: which tokens are hidden, and behind what.

Everything works on a batch of examples at once. The random numbers are arguments
(`MaskingDraws`), so an example's masks depend on its own draws alone, never on the
batch it stands in.
"""

from typing import NamedTuple

import numpy as np

MASK_RATE, KEEP_RATE = 0.8, 0.1


class MaskingDraws(NamedTuple):
    """Uniform numbers in [0, 1), float32, each `(batch, sequence_length)`.

    Attributes:
        order: Rank of the n-gram that starts here: the smallest is tried first.
        size: Draws how many words that n-gram has.
        action: Draws between `[MASK]`, the token itself and a random one.
        replacement: Draws the random one.
    """

    order: np.ndarray
    size: np.ndarray
    action: np.ndarray
    replacement: np.ndarray


def draw_masking(rng, num_examples, sequence_length):
    """Draws what masking `num_examples` examples needs, as one `MaskingDraws`."""
    shape = (len(MaskingDraws._fields), num_examples, sequence_length)
    return MaskingDraws(*rng.random(shape, np.float32))


def derive_max_predictions(sequence_length, masked_rate):
    """Returns the room for predictions that a full example needs.

    The original's default of 20 at length 512 masks 3.9 % of the tokens instead of
    15 %, and its 20 was meant for length 128. Derived, the room never cuts the rate.

    Args:
        sequence_length: int. In tokens.
        masked_rate: float in (0, 1]. Share of the tokens to predict.

    Example:

    >>> derive_max_predictions(512, 0.15), derive_max_predictions(128, 0.15)
    (77, 19)
    """
    return max(1, round(sequence_length * masked_rate))


def count_predictions(lengths, masked_rate, max_predictions):
    """Returns how many tokens of each example are predicted at most.

    Args:
        lengths: int, `(batch,)`. Real tokens, special ones among them as originally.
        masked_rate: float in (0, 1]. Share of these to predict.
        max_predictions: int. Room in the example; cuts the rate where it is smaller.
    """
    wanted = np.rint(np.asarray(lengths) * masked_rate).astype(int)
    return np.clip(wanted, 1, max_predictions)


def select_ngrams(
    word_starts, maskable, budgets, draws, *, max_ngram=3, favor_shorter=True
):
    """Selects runs of one to `max_ngram` whole words in each example.

    Words are tried in random order. Each draws a size n with probability proportional
    to 1/n, takes as many following words, fewer if the budget or the text before the
    next unmaskable token ends, and is passed over where it overlaps what is selected.

    The examples advance in step, each with its next word, so the loop runs over words
    tried in one example, not over all tokens.

    Args:
        word_starts: bool, `(batch, sequence_length)`. Where a token begins a word.
        maskable: bool, `(batch, sequence_length)`. False on padding and special tokens,
            the first of each example among them.
        budgets: int, `(batch,)`. Tokens to select at most.
        draws: `MaskingDraws`.
        max_ngram: int >= 1. Words in a run, at most.
        favor_shorter: bool. Whether 1/n favours short runs, or is reversed.

    Returns:
        Tuple of the selection, bool `(batch, sequence_length)`, and the number of runs
        of 1, 2, ... words, int `(max_ngram,)`.

    Reference: Lan et al. 2020, section 4.1; google-research/albert
    `create_masked_lm_predictions`; differs in that no word and no run crosses a special
    token (the original lets a continuation piece or a run straddle `[SEP]`).
    """
    batch, sequence_length = maskable.shape
    words = _find_words(word_starts, maskable, max_ngram)
    row = words.starts // sequence_length
    rank = row + draws.order.ravel()[words.starts].astype(np.float64)
    # Stable, or the order of two equal draws would depend on the rest of the batch.
    order = np.argsort(rank, kind="stable")
    first = np.searchsorted(row, np.arange(batch))
    num_words = np.bincount(row, minlength=batch)
    max_sizes = _draw_sizes(draws.size.ravel()[words.starts], max_ngram, favor_shorter)

    taken = np.zeros(len(row), bool)
    remaining = np.array(budgets)
    size_counts = np.zeros(max_ngram, int)
    sizes = np.arange(1, max_ngram + 1)[:, None]
    active, step = np.flatnonzero(num_words), 0
    while active.size:
        word = order[first[active] + step]
        last, lengths = words.last[:, word], words.lengths[:, word]
        fitting = np.count_nonzero(lengths <= remaining[active], axis=0)
        inside = sizes <= np.minimum(fitting, max_sizes[word])
        free = inside[0] & ~(taken[last] & inside).any(axis=0)
        inside &= free
        taken[last[inside]] = True
        remaining[active] -= np.where(inside, lengths, 0).max(axis=0)
        run_words = np.where(inside, last, 0).max(axis=0)[free] - word[free]
        size_counts += np.bincount(run_words, minlength=max_ngram)
        step += 1
        active = active[(remaining[active] > 0) & (num_words[active] > step)]
    return words.to_tokens(taken, maskable), size_counts


def select_whole_words(word_starts, maskable, budgets, draws, **_):
    """Selects single whole words; arguments and results of `select_ngrams`."""
    return select_ngrams(word_starts, maskable, budgets, draws, max_ngram=1)


def select_tokens(word_starts, maskable, budgets, draws, **_):
    """Selects single tokens; arguments and results of `select_ngrams`."""
    every_token = np.ones_like(word_starts)
    return select_ngrams(every_token, maskable, budgets, draws, max_ngram=1)


def replace_selected(token_ids, selected, draws, *, mask_token_id, replacement_ids):
    """Hides the selected tokens: 80 % `[MASK]`, 10 % themselves, 10 % a random token.

    Drawn for every token by itself, also within one n-gram, as the original does.

    Args:
        token_ids: int32, `(batch, sequence_length)`.
        selected: bool, `(batch, sequence_length)`.
        draws: `MaskingDraws`.
        mask_token_id: int.
        replacement_ids: int, `(num_replacements,)`. What a random token is drawn from.

    Returns:
        int32, `(batch, sequence_length)`: what the model sees.
    """
    action = draws.action[selected]
    # In float64, because float32 could round the product up to the length itself.
    choice = draws.replacement[selected].astype(np.float64) * len(replacement_ids)
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
    """Lists the selected positions of each example with what stood there.

    Args:
        token_ids: int32, `(batch, sequence_length)`. Before anything was hidden.
        selected: bool, `(batch, sequence_length)`, at most `max_predictions` a row.
        max_predictions: int. Columns of the result; what is left over is zero.

    Returns:
        Dict of `(batch, max_predictions)` arrays: `mask_positions` (int32, ascending),
        `mask_ids` (int32) and `mask_weights` (float32, 1 = a prediction).
    """
    num_selected = np.count_nonzero(selected, axis=1)
    is_used = np.arange(max_predictions) < num_selected[:, None]
    positions = np.zeros(is_used.shape, np.int32)
    ids = np.zeros(is_used.shape, np.int32)
    positions[is_used] = np.nonzero(selected)[1]
    ids[is_used] = token_ids[selected]
    weights = is_used.astype(np.float32)
    return {"mask_positions": positions, "mask_ids": ids, "mask_weights": weights}


class _Words(NamedTuple):
    """The words of a flattened batch, and the runs of words that start at each.

    Attributes:
        is_start: bool, `(batch * sequence_length,)`.
        starts: int, `(num_words,)`. Flat position of the first token.
        last: int, `(max_ngram, num_words)`. Index of the last word of the run of n
            words, or of as many as there are before the next unmaskable token.
        lengths: int, `(max_ngram, num_words)`. Tokens in that run.
    """

    is_start: np.ndarray
    starts: np.ndarray
    last: np.ndarray
    lengths: np.ndarray

    def to_tokens(self, taken, maskable):
        word_of_token = np.cumsum(self.is_start).reshape(maskable.shape) - 1
        selected = np.zeros_like(maskable)
        selected[maskable] = taken[word_of_token[maskable]]
        return selected


def _find_words(word_starts, maskable, max_ngram):
    after_unmaskable = ~np.roll(maskable.ravel(), 1)
    is_start = maskable.ravel() & (word_starts.ravel() | after_unmaskable)
    boundaries = np.flatnonzero(is_start | ~maskable.ravel())
    is_word = is_start[boundaries]
    starts = boundaries[is_word]
    stops = np.append(boundaries[1:], maskable.size)[is_word]
    is_joined = np.append(stops[:-1] == starts[1:], False)
    last = [np.arange(len(starts))]
    for _ in range(max_ngram - 1):
        last.append(last[-1] + is_joined[last[-1]])
    last = np.stack(last)
    return _Words(is_start, starts, last, stops[last] - starts)


def _draw_sizes(uniforms, max_ngram, favor_shorter):
    weights = 1 / np.arange(1, max_ngram + 1)
    weights = weights if favor_shorter else weights[::-1]
    thresholds = np.cumsum(weights / weights.sum())[:-1]
    return 1 + np.searchsorted(thresholds, uniforms, side="right")


MASKING = {
    "token": select_tokens,
    "whole_word": select_whole_words,
    "ngram": select_ngrams,
}
