"""Computation on long rows in chunks, to limit the memory of intermediate values."""

import keras
from keras import ops

# In tokens. Shorter chunks take more time, and save little memory besides whole rows.
CHUNK_LENGTH = 512


def slices(length, chunk_length=CHUNK_LENGTH, start=0):
    """Returns the slices of an axis, one for each chunk; the last may be shorter.

    Args:
        length: int, or `None` for one slice of all: while a graph for any length is
            traced, and in training, where gradients need the values of all chunks.
        chunk_length: int.
        start: int. Start of the first chunk.
    """
    if length is None or length - start <= chunk_length:
        return [slice(start, None)]
    starts = range(start, length, chunk_length)
    return [slice(start, start + chunk_length) for start in starts]


def concatenate_in_turn(functions):
    """Calls functions one after the other, and concatenates their results.

    Args:
        functions: List of functions without arguments that return tensors `(batch,
            chunk_length, ...)`.

    Returns:
        Tensor, `(batch, sequence_length, ...)`.
    """
    if len(functions) == 1:
        return functions[0]()
    if keras.config.backend() == "tensorflow":
        from albert_keras.layers.tensorflow_kernels import call_in_turn

        results = call_in_turn(functions)
    else:
        results = [function() for function in functions]
    return ops.concatenate(results, axis=1)
