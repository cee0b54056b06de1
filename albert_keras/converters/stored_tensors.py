"""Tensors in a file: names and shapes at once, values on demand."""

import contextlib
import dataclasses
import itertools
import math
import typing

import numpy as np

# Sizes of a config that take memory, and a limit of the depth: each layer takes time to
# build, even where layers share their weights.
_SIZES = (
    *("vocabulary_size", "embedding_dim", "hidden_dim", "intermediate_dim"),
    *("max_sequence_length", "num_segments"),
)
MAX_DEPTH = 512


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


@contextlib.contextmanager
def readable(file, *errors):
    """Turns the exceptions of a reader of damaged files into one clear `ValueError`."""
    try:
        yield
    except (*errors, MemoryError) as error:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise ValueError(
            f"The weights cannot be read: the file is damaged, or none of its kind. "
            f"Received: '{file}': {reason[0][:300]}"
        ) from error


def check_size(name, shape, item_bytes, available_bytes, file):
    """Checks that a tensor of a stated shape fits its file, before memory is used."""
    wanted = math.prod(shape) * item_bytes
    if any(size < 0 for size in shape) or wanted > available_bytes:
        raise ValueError(
            "A tensor must not be larger than its file. "
            f"Received: '{file}': {name} of shape {tuple(shape)} ({wanted} bytes) in "
            f"{available_bytes} bytes."
        )


def check_config_sizes(config, tensors, name):
    """Checks a config against the `StoredTensors` of a file, before a model is built."""
    largest = max(itertools.chain(*tensors.shapes.values()), default=0)
    sizes = {key: getattr(config, key) for key in _SIZES}
    too_large = [f"{key}={size}" for key, size in sizes.items() if size > largest]
    if too_large:
        raise ValueError(
            "The config must not have sizes that no tensor has. Received: "
            f"{', '.join(too_large)}, '{name}' with {largest} at most."
        )
    depth = config.num_layers * config.num_inner_repetitions
    if depth > MAX_DEPTH:
        raise ValueError(
            f"A checkpoint must not have more than {MAX_DEPTH} layers. "
            f"Received: {depth} in the config of '{name}'."
        )


def check_finite(name, array):
    """Checks that an array has no NaN or infinity, as damaged files have."""
    num_wrong = array.size - np.count_nonzero(np.isfinite(array))
    if num_wrong:
        raise ValueError(
            "Weights must be finite. "
            f"Received: {name} with {num_wrong} values that are NaN or infinite."
        )
