"""Functions on token positions: gathering, replacing, examples of packed rows."""

from keras import ops


def take_tokens(x, positions):
    """Returns the vectors of the tokens at the given positions.

    Args:
        x: `(batch, sequence_length, dim)`.
        positions: Integers, `(batch, num_positions)`; the result has these axes and dim.
    """
    # Not `[:, :, None]`, which TFLite cannot convert when both sizes are unknown.
    indices = ops.expand_dims(ops.cast(positions, "int32"), axis=2)
    return ops.take_along_axis(x, indices, axis=1)


def put_tokens(token_ids, positions, new_ids):
    """Returns token ids with others at the given positions.

    Args:
        token_ids: int32, `(batch, sequence_length)`.
        positions: int32, `(batch, num_positions)`, different ones in a row; 0, where
            `[CLS]` stays, marks unused places.
        new_ids: int32, `(batch, num_positions)`.

    Example:

    >>> ids = ops.convert_to_tensor([[2, 7, 8, 9]])
    >>> ops.convert_to_numpy(put_tokens(ids, [[1, 3, 0]], [[5, 6, 4]]))[0].tolist()
    [2, 5, 8, 6]
    """
    positions = ops.cast(positions, "int32")
    new_ids = ops.where(positions > 0, new_ids, token_ids[:, :1])
    rows = ops.expand_dims(ops.arange(ops.shape(token_ids)[0], dtype="int32"), axis=1)
    rows = ops.broadcast_to(rows, ops.shape(positions))
    # (batch * num_positions, 2)
    indices = ops.reshape(ops.stack([rows, positions], axis=2), (-1, 2))
    return ops.scatter_update(token_ids, indices, ops.reshape(new_ids, (-1,)))


def same_example_mask(sequence_ids):
    """Returns which tokens of a packed row may attend to each other.

    Padding attends to padding only, so that no row of the mask is empty.

    Args:
        sequence_ids: Integers, `(batch, sequence_length)`; see
            `AlbertBackbone.encode_packed`.

    Returns:
        Booleans, `(batch, sequence_length, sequence_length)`.
    """
    # Floats, since TensorFlow keeps int32 in the host's memory on every device.
    ids = ops.cast(sequence_ids, "float32")
    return ops.equal(ops.expand_dims(ids, axis=2), ops.expand_dims(ids, axis=1))


def positions_in_example(mask):
    """Returns the position of each token in its own example.

    Args:
        mask: Booleans, `(batch, sequence_length, sequence_length)`, true where two
            tokens are of the same example.

    Returns:
        int32, `(batch, sequence_length)`; padding is counted from 0 too.

    Example:

    >>> mask = same_example_mask([[1, 1, 2, 2, 2, 0]])
    >>> ops.convert_to_numpy(positions_in_example(mask))[0].tolist()
    [0, 1, 0, 1, 2, 0]
    """
    # Counts the tokens of the example up to this one. float32 is exact to 2^24.
    counts = ops.sum(ops.tril(ops.cast(mask, "float32")), axis=2)
    return ops.cast(counts, "int32") - 1
