"""Tensors in a file, whose values are read on demand."""

import contextlib
import dataclasses
import math
import typing

import ml_dtypes
import numpy as np

from albert_keras.analysis.parameters import count_parameters
from albert_keras.checks import shortened, shown
from albert_keras.system.files import check_is_fetched

# Sizes of a config that take memory.
_SIZES = (
    *("vocabulary_size", "embedding_dim", "hidden_dim", "intermediate_dim"),
    *("max_sequence_length", "num_segments"),
)


@dataclasses.dataclass(frozen=True)
class StoredTensors:
    """Tensors by name: a dict of their shapes, and a function that reads one of them.

    >>> tensors = StoredTensors({"bias": (3,)}, {"bias": np.zeros(3)}.__getitem__)
    >>> "bias" in tensors, tensors.shapes["bias"]
    (True, (3,))
    """

    shapes: dict
    read: typing.Callable

    def __contains__(self, name):
        return name in self.shapes

    def renamed(self, names):
        """Returns the tensors under other names, by a dict from old to new names."""
        old_names = {new: old for old, new in names.items()}
        if len(old_names) < len(names):
            taken = sorted(old for old, new in names.items() if old_names[new] != old)
            raise ValueError(
                "Tensors of a checkpoint must have different names. Received twice: "
                f"{', '.join(taken)}."
            )
        shapes = {new: self.shapes[old] for new, old in old_names.items()}
        return StoredTensors(shapes, lambda name: self.read(old_names[name]))


def joined(parts):
    """Joins several `StoredTensors`; of equal names, the last one counts."""
    readers = {name: part.read for part in parts for name in part.shapes}
    shapes = {name: shape for part in parts for name, shape in part.shapes.items()}
    return StoredTensors(shapes, lambda name: readers[name](name))


@contextlib.contextmanager
def readable(file):
    """Turns any exception of a reader of damaged files into one clear `ValueError`."""
    try:
        yield
    # Each library has its own, of many classes.
    except Exception as error:
        check_is_fetched(file)
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise ValueError(
            f"The weights cannot be read: the file is damaged, or none of its kind. "
            f"Received: '{file}': {reason[0][:300]}"
        ) from error


def check_size(num_bytes, available_bytes, file):
    """Checks that tensors of stated shapes fit their file, before memory is used."""
    if not 0 <= num_bytes <= available_bytes:
        raise ValueError(
            "The tensors of a file must not be larger than the file. "
            f"Received: '{file}': {num_bytes} bytes in {available_bytes} bytes."
        )


def check_config_sizes(config, tensors, name):
    """Checks that files can hold the weights of a config, before a model is built.

    Args:
        config: `AlbertConfig`.
        tensors: `StoredTensors`.
        name: str or path of the checkpoint, for errors.
    """
    num_stored = sum(map(math.prod, tensors.shapes.values()))
    num_weights = count_parameters(config)
    # Files may lack the pooler, and store two 4-bit numbers as one.
    if num_weights > 2 * num_stored:
        sizes = ", ".join(f"{key}={getattr(config, key)}" for key in _SIZES)
        raise ValueError(
            "The weights of a config must be in the files beside it. Received: "
            f"'{name}' with {num_stored} numbers, and a config of "
            f"{shortened(str(num_weights))} weights: {shortened(sizes)}."
        )


def check_bias(name, size, tensors, file):
    """Checks that tensors have a bias of the size that a config states as `name`."""
    if size != 0 and (size,) not in tensors.shapes.values():
        raise ValueError(
            "The weights of a head must have a bias for each class. "
            f"Received: '{file}' without one for {name}={shown(size)}."
        )


def as_weight(name, array, dtype):
    """Returns an array in the dtype of a variable, if it can be a weight.

    Raises:
        ValueError: If its numbers are not floating-point ones, or not finite in this
            dtype.
    """
    is_floating = np.issubdtype(array.dtype, np.floating)
    if not is_floating and array.dtype != ml_dtypes.bfloat16:
        raise ValueError(
            "Weights must be floating-point numbers. "
            f"Received: {shortened(name)} of type {shortened(str(array.dtype))}."
        )
    with np.errstate(over="ignore"):
        array = array.astype(dtype, copy=False)
    num_wrong = array.size - np.count_nonzero(np.isfinite(array))
    if num_wrong:
        raise ValueError(
            "Weights must be finite. Received: "
            f"{shortened(name)} with {num_wrong} values that are NaN or infinite."
        )
    return array
