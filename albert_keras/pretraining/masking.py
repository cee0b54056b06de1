"""Masked-token prediction: which tokens are hidden, and behind what.

Everything works on a batch of examples at once. The random numbers are arguments
(`MaskingDraws`), so an example's masks depend on its own draws alone, never on the
batch it stands in.
"""

from typing import NamedTuple

import numpy as np

MASK_RATE, KEEP_RATE = 0.8, 0.1

# Ranks and columns take 16 bits each; a rank that is not drawn sorts behind every word.
MAX_SEQUENCE_LENGTH = 2**16
_NUM_RANKS = 2**16 - 1
_COLUMN = np.uint32(2**16 - 1)
_NO_WORD = np.uint32(_NUM_RANKS << 16)

# Words of an example that are looked up at a time; few need more.
_WORDS_TOGETHER = 64

# More tokens than any budget.
_NO_RUN = 2**40


class MaskingDraws(NamedTuple):
    """The random numbers of a batch of examples.

    Attributes:
        order: uint16, `(batch, sequence_length)`. Rank of the n-gram that starts here:
            the smallest is tried first, of equal ones the left one. Below 65,535.
        size: float32 in [0, 1), `(batch, sequence_length)`. Draws how many words that
            n-gram has.
        action: float32 in [0, 1), `(batch, max_predictions)`. Draws for the first,
            second, ... selected token between `[MASK]`, itself and a random one.
        replacement: float32 in [0, 1), `(batch, max_predictions)`. Draws the random
            one.
    """

    order: np.ndarray
    size: np.ndarray
    action: np.ndarray
    replacement: np.ndarray


def draw_masking(rng, num_examples, sequence_length, max_predictions):
    """Draws what masking `num_examples` examples needs, as one `MaskingDraws`."""
    positions = (num_examples, sequence_length)
    predictions = (2, num_examples, max_predictions)
    return MaskingDraws(
        rng.integers(0, _NUM_RANKS, positions, np.uint16),
        rng.random(positions, np.float32),
        *rng.random(predictions, np.float32),
    )


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
    word_starts,
    maskable,
    budgets,
    draws,
    *,
    max_ngram=3,
    favor_shorter=True,
    covered=None,
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
        covered: bool, `(batch, sequence_length)`, or None. Words that are taken already
            and must not be selected.

    Returns:
        Tuple of the selection, bool `(batch, sequence_length)`, and the number of runs
        of 1, 2, ... words, int `(max_ngram,)`.

    Reference: Lan et al. 2020, section 4.1; google-research/albert
    `create_masked_lm_predictions`; differs in that no word and no run crosses a special
    token (the original lets a continuation piece or a run straddle `[SEP]`), and in
    that 65,535 ranks order the words.
    """
    batch, sequence_length = maskable.shape
    words = _find_words(word_starts, maskable)
    keys = _sort_words(words, draws.order)
    number_at = np.zeros(maskable.size, np.int64)
    number_at[words.starts] = np.arange(len(words.starts))
    num_words = np.bincount(words.starts // sequence_length, minlength=batch)
    # Runs of the last words are looked up beyond them.
    selected = np.zeros(len(words.starts) + max_ngram, bool)
    taken = selected.copy()
    if covered is not None:
        taken[: len(words.starts)] = covered.ravel()[words.starts]

    sizes, run_counts = draws.size.ravel(), np.zeros(max_ngram + 1, int)
    active, remaining, begin = np.flatnonzero(num_words), np.array(budgets), 0
    while active.size:
        tried = keys[active, begin : begin + _WORDS_TOGETHER].T
        numbers = number_at[active * sequence_length + (tried & _COLUMN)]
        is_word = tried != _NO_WORD
        lengths = _run_lengths(words, numbers, is_word, sizes, max_ngram, favor_shorter)
        left = remaining[active]
        for first, length in zip(numbers, lengths.swapaxes(0, 1), strict=True):
            size = np.count_nonzero(length[1:] <= left, axis=0)
            size[_overlaps(taken, first, size)] = 0
            left -= length[size, np.arange(len(size))]
            for n in range(max_ngram):
                chosen = first[size > n] + n
                taken[chosen] = selected[chosen] = True
            run_counts += np.bincount(size, minlength=max_ngram + 1)
            if not left.any():
                break
        remaining[active] = left
        begin += _WORDS_TOGETHER
        active = active[(left > 0) & (num_words[active] > begin)]
    return words.to_tokens(selected, maskable), run_counts[1:]


def select_whole_words(word_starts, maskable, budgets, draws, covered=None, **_):
    """Selects single whole words; arguments and results of `select_ngrams`."""
    options = {"max_ngram": 1, "covered": covered}
    return select_ngrams(word_starts, maskable, budgets, draws, **options)


def select_tokens(word_starts, maskable, budgets, draws, covered=None, **_):
    """Selects single tokens; arguments and results of `select_ngrams`."""
    every_token = np.ones_like(word_starts)
    return select_whole_words(every_token, maskable, budgets, draws, covered)


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
    is_used = _used_slots(selected, draws.action.shape[1])
    action = draws.action[is_used]
    # In float64, because float32 could round the product up to the length itself.
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


def permute_selected(token_ids, selected, draws):
    """Shuffles the selected tokens of each example among themselves.

    Args:
        token_ids: int32, `(batch, sequence_length)`.
        selected: bool, `(batch, sequence_length)`.
        draws: `MaskingDraws`. The `replacement` of the first, second, ... selected
            token is its rank in the new order.

    Returns:
        int32, `(batch, sequence_length)`.

    Reference: google-research/albert `create_masked_lm_predictions`, `do_permutation`.
    """
    is_used = _used_slots(selected, draws.replacement.shape[1])
    rows = np.nonzero(selected)[0]
    order = np.lexsort((draws.replacement[is_used], rows))
    permuted = token_ids.copy()
    permuted[selected] = token_ids[selected][order]
    return permuted


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
    is_used = _used_slots(selected, max_predictions)
    positions = np.zeros(is_used.shape, np.int32)
    ids = np.zeros(is_used.shape, np.int32)
    positions[is_used] = np.nonzero(selected)[1]
    ids[is_used] = token_ids[selected]
    weights = is_used.astype(np.float32)
    return {"mask_positions": positions, "mask_ids": ids, "mask_weights": weights}


def _used_slots(selected, num_slots):
    """Returns which slots of each row hold its first, second, ... selected token."""
    return np.arange(num_slots) < np.count_nonzero(selected, axis=1)[:, None]


class _Words(NamedTuple):
    """The words of a flattened batch.

    Attributes:
        is_start: bool, `(batch * sequence_length,)`.
        starts, stops: int, `(num_words,)`. Flat positions: the first token, and the one
            behind the last.
        is_joined: bool, `(num_words,)`. Whether the next word follows at once.
    """

    is_start: np.ndarray
    starts: np.ndarray
    stops: np.ndarray
    is_joined: np.ndarray

    def to_tokens(self, selected, maskable):
        word_of_token = np.cumsum(self.is_start).reshape(maskable.shape) - 1
        tokens = np.zeros_like(maskable)
        tokens[maskable] = selected[word_of_token[maskable]]
        return tokens


def _find_words(word_starts, maskable):
    is_start = maskable & word_starts
    is_start[:, 1:] |= maskable[:, 1:] & ~maskable[:, :-1]
    is_start = is_start.ravel()
    boundaries = np.flatnonzero(is_start | ~maskable.ravel())
    is_word = is_start[boundaries]
    starts = boundaries[is_word]
    stops = np.append(boundaries[1:], maskable.size)[is_word]
    is_joined = np.append(stops[:-1] == starts[1:], False)
    return _Words(is_start, starts, stops, is_joined)


def _sort_words(words, ranks):
    """Sorts the words of each example by rank.

    Args:
        words: `_Words`.
        ranks: uint16, `(batch, sequence_length)`.

    Returns:
        uint32, `(batch, sequence_length)`: of each word its rank and, in the lower half,
        its column. Behind the words, `_NO_WORD`.
    """
    # One number of both: it has no ties, and sorts faster than indices do.
    keys = np.full(ranks.size, _NO_WORD)
    columns = (words.starts % ranks.shape[1]).astype(np.uint32)
    keys[words.starts] = ranks.ravel()[words.starts].astype(np.uint32) << 16 | columns
    return np.sort(keys.reshape(ranks.shape), axis=1)


def _run_lengths(words, tried, is_word, uniforms, max_ngram, favor_shorter):
    """Returns how many tokens the runs that begin at some words have.

    Args:
        words: `_Words`.
        tried: int, `(steps, batch)`. Words by their number.
        is_word: bool, `(steps, batch)`. False where there is none.
        uniforms: float32, flat. Draws the size of the run that begins at each token.
        max_ngram, favor_shorter: As for `select_ngrams`.

    Returns:
        int, `(max_ngram + 1, steps, batch)`, by the number of words; `_NO_RUN` where the
        drawn size is smaller or the text ends before.
    """
    weights = 1 / np.arange(1, max_ngram + 1)
    weights = weights if favor_shorter else weights[::-1]
    thresholds = np.cumsum(weights / weights.sum())
    lengths = np.zeros((max_ngram + 1, *tried.shape), int)
    starts = words.starts[tried]
    drawn = uniforms[starts]
    exists, last = is_word, tried
    for size in range(1, max_ngram + 1):
        lengths[size] = np.where(exists, words.stops[last] - starts, _NO_RUN)
        exists = exists & words.is_joined[last] & (drawn >= thresholds[size - 1])
        last = last + exists
    return lengths


def _overlaps(taken, words, sizes):
    """Tells which runs of `sizes` words, from `words` on, have a word that is taken."""
    overlaps = taken[words] | (sizes == 0)
    for n in range(1, sizes.max(initial=0)):
        overlaps |= taken[words + n] & (sizes > n)
    return overlaps


MASKING = {
    "token": select_tokens,
    "whole_word": select_whole_words,
    "ngram": select_ngrams,
}
