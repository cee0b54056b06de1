"""Position elimination: a row loses the positions that the others attend to least.

A head that reads the first position alone needs ever fewer of the others. After the
attention of each layer a share of the row's tokens stays, of the config's
`keep_positions`; the feed-forward network and the later layers see only those. There is
no search for the shares, which the paper learns. A share is of a row's own tokens, not of
the padded length, so that padding changes no output.

Reference: Goyal et al. 2020, PoWER-BERT, arXiv 2001.08950, sections 3.2 and 3.3.
"""

import functools
from fractions import Fraction

from keras import ops

from albert_keras.layers.positions import take_tokens

# Shares are fractions of integers, so that all devices keep the same number.
_MAX_DENOMINATOR = 1000
# More than any position receives.
_FIRST_POSITION = 1e9


def kept_shares(config):
    """Returns the share of a row's tokens that stays after each encoder.

    Args:
        config: `AlbertConfig`.

    Returns:
        List of `Fraction`, one for each of the `num_layers * num_inner_repetitions`
        encoders, not increasing. Empty if all positions stay.

    Example:

    >>> from albert_keras.config import AlbertConfig
    >>> config = AlbertConfig.from_preset("albert_test", keep_positions=[0.25])
    >>> [float(share) for share in kept_shares(config)]
    [0.5, 0.25]
    """
    given, num_layers = config.keep_positions, config.num_layers
    if all(share == 1 for share in given):
        return []
    if len(given) == 1:
        depths = range(1, num_layers + 1)
        given = [given[0] ** (depth / num_layers) for depth in depths]
    shares = [Fraction(share).limit_denominator(_MAX_DENOMINATOR) for share in given]
    return [share for share in shares for _ in range(config.num_inner_repetitions)]


def num_kept(share, length):
    """Returns the share of a number of positions, rounded up and at least 1.

    Args:
        share: `Fraction`.
        length: int, or integer tensor.

    Example:

    >>> num_kept(Fraction(1, 4), 9), num_kept(Fraction(1, 4), 8)
    (3, 2)
    """
    kept = (length * share.numerator + share.denominator - 1) // share.denominator
    return max(kept, 1) if isinstance(kept, int) else ops.maximum(kept, 1)


def selections(config, attention_mask):
    """Returns for each encoder the function that drops positions, or `None`.

    Args:
        config: `AlbertConfig`.
        attention_mask: Padding mask `(batch, sequence_length)`, 1 = real.

    Returns:
        List of functions of the attended positions `(batch, length, hidden_dim)`, the
        attention probabilities and the padding mask before, which return the positions
        that stay, and their mask; `None` where all stay. Empty if all always stay.

    Raises:
        ValueError: If the mask is of packed rows.
    """
    shares = kept_shares(config)
    if shares and len(attention_mask.shape) != 2:
        raise ValueError(
            "Positions are dropped from rows with one example each. Received: packed "
            f"rows, for keep_positions={config.keep_positions}."
        )
    functions, before = [], 1
    for share in shares:
        functions.append(None if share == before else _selection(share, attention_mask))
        before = share
    return functions


def _selection(share, attention_mask):
    """Returns the function that reduces rows to a share of their first tokens."""
    num_tokens = ops.sum(ops.cast(attention_mask, "int32"), axis=1)
    return functools.partial(
        select_positions,
        length=num_kept(share, ops.shape(attention_mask)[1]),
        num_kept_of_rows=num_kept(share, num_tokens),
    )


def select_positions(x, scores, mask, length, num_kept_of_rows):
    """Keeps the positions of each row to which the others attend most, in their order.

    Args:
        x: `(batch, old_length, dim)`.
        scores: Attention probabilities, `(batch, num_heads, old_length, old_length)`.
        mask: `(batch, old_length)`, 1 = real. The first position always stays.
        length: int or scalar tensor, the number of positions of the result.
        num_kept_of_rows: Integers `(batch,)`, at most `length`. Shorter rows are padded.

    Returns:
        `(batch, length, dim)`, and the float32 mask `(batch, length)`.
    """
    _, best = ops.top_k(attention_received(scores, mask), length)
    is_kept = ops.arange(length, dtype="int32") < ops.expand_dims(num_kept_of_rows, 1)
    old_length = ops.shape(mask)[1]
    places = ops.sort(ops.where(is_kept, ops.cast(best, "int32"), old_length), axis=1)
    is_kept = ops.cast(places < old_length, "float32")
    places = ops.minimum(places, old_length - 1)
    mask = ops.take_along_axis(ops.cast(mask, "float32"), places, axis=1)
    return take_tokens(x, places), mask * is_kept


def attention_received(scores, mask):
    """Returns how much attention each position gets from the other tokens of its row.

    It is the sum over heads and queries, without a position's attention to itself.
    Padding, which is below every token, gets -1, and the first position the most.

    Args:
        scores, mask: As for `select_positions`.

    Returns:
        `(batch, old_length)`.
    """
    positions = ops.arange(ops.shape(mask)[1], dtype="int32")
    # (batch, queries, keys)
    from_others = ops.cast(ops.expand_dims(positions, 1) != positions, scores.dtype)
    from_tokens = ops.expand_dims(ops.cast(mask, scores.dtype), 2)
    received = ops.sum(ops.sum(scores, axis=1) * from_others * from_tokens, axis=1)
    received = ops.where(ops.cast(mask, "bool"), received, -1.0)
    return ops.where(positions == 0, _FIRST_POSITION, received)
