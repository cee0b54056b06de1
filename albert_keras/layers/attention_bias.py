"""Additive masks for attention scores."""

from keras import ops

# The original's value: the softmax of a masked position is exactly 0, and float16, whose
# maximum is 65504, can represent it.
MASKED_SCORE = -10000.0


def attention_bias(attention_mask):
    """Returns the bias that masks positions in attention.

    Args:
        attention_mask: Padding mask `(batch, sequence_length)`, 1 = real; or a mask for
            each query, `(batch, sequence_length, sequence_length)`.

    Returns:
        float32, `(batch, 1, 1, sequence_length)` or `(batch, 1, sequence_length,
        sequence_length)`: 0 where attention is allowed, -10000 elsewhere.

    Example:

    >>> ops.convert_to_numpy(attention_bias([[1, 1, 0]])).tolist()
    [[[[0.0, 0.0, -10000.0]]]]
    """
    mask = ops.cast(attention_mask, "float32")
    # The new axes are broadcast over heads and, for a padding mask, over queries.
    # LiteRT has no operation for `[:, None, None]` with an unknown length.
    mask = ops.expand_dims(mask, 1 if len(mask.shape) == 3 else (1, 2))
    return (mask - 1.0) * -MASKED_SCORE
