"""Long rows in pieces, so that the intermediate values of one alone are in memory."""

import keras
from keras import ops

# Tokens. Fewer take more time, and save little beside the values of whole rows.
PIECE_LENGTH = 512


def slices(length, piece_length=PIECE_LENGTH, start=0):
    """Returns the slices of an axis, each of a piece; the last may be shorter.

    Args:
        length: int, or `None` for a single slice of all: where a graph for any length
            is traced, and in training, whose gradient needs the values of all pieces.
        piece_length: int.
        start: int. Where the first piece begins.
    """
    if length is None or length - start <= piece_length:
        return [slice(start, None)]
    starts = range(start, length, piece_length)
    return [slice(start, start + piece_length) for start in starts]


def concatenate_in_turn(functions):
    """Calls functions one after the other, and joins their results.

    Args:
        functions: List of functions without arguments, each of which returns a tensor
            `(batch, piece_length, ...)`.

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
