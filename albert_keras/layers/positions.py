"""Token positions: gathering vectors, and the examples of packed rows."""

from keras import ops


def take_tokens(x, positions):
    """Returns the vectors of the tokens at given positions.

    Args:
        x: `(batch, sequence_length, dim)`.
        positions: Integers, `(batch, num_positions)`.

    Returns:
        `(batch, num_positions, dim)`.
    """
    # Not `[:, :, None]`, which TFLite cannot convert when both sizes are unknown.
    indices = ops.expand_dims(ops.cast(positions, "int32"), axis=2)
    return ops.take_along_axis(x, indices, axis=1)


def same_example_mask(sequence_ids):
    """Returns which tokens of a packed row may attend to each other.

    Padding attends to padding only, so that no row of the mask is empty.

    Args:
        sequence_ids: Integers, `(batch, sequence_length)`; see
            `AlbertBackbone.encode_packed`.

    Returns:
        Booleans, `(batch, sequence_length, sequence_length)`.
    """
    # Floats, because TensorFlow keeps int32 tensors in host memory.
    ids = ops.cast(sequence_ids, "float32")
    return ops.equal(ops.expand_dims(ids, axis=2), ops.expand_dims(ids, axis=1))


def positions_in_example(mask):
    """Returns the position of each token in its own example.

    Args:
        mask: Booleans, `(batch, sequence_length, sequence_length)`, true for two tokens
            of the same example.

    Returns:
        int32, `(batch, sequence_length)`; positions of padding also begin at 0.

    Example:

    >>> mask = same_example_mask([[1, 1, 2, 2, 2, 0]])
    >>> ops.convert_to_numpy(positions_in_example(mask))[0].tolist()
    [0, 1, 0, 1, 2, 0]
    """
    # Counts the example's tokens up to each position. float32 is exact up to 2^24.
    counts = ops.sum(ops.tril(ops.cast(mask, "float32")), axis=2)
    return ops.cast(counts, "int32") - 1
