"""PyTorch's `.bin` files, read as NumPy arrays."""

import os
import pickle
import struct
import zipfile

from albert_keras.checks import import_optional
from albert_keras.converters.stored_tensors import StoredTensors, check_size, readable

# Errors of PyTorch for damaged files.
_ERRORS = (
    *(ArithmeticError, AssertionError, AttributeError, EOFError, LookupError, OSError),
    *(RuntimeError, TypeError, ValueError, pickle.UnpicklingError, struct.error),
    *(zipfile.BadZipFile, NotImplementedError),
)


def read_pytorch(file):
    """Returns the tensors of a state dict that `torch.save` wrote, as `StoredTensors`.

    PyTorch reads only tensors, and executes nothing in the file. bfloat16, which NumPy
    lacks, becomes float32.

    Raises:
        ImportError: If PyTorch is absent.
        ValueError: If the file is damaged, or holds anything but named tensors.
    """
    torch = import_optional("torch", "peers")
    file_bytes = os.path.getsize(file)
    with readable(file, *_ERRORS):
        tensors = {
            name: value.detach()
            for name, value in dict(_load(torch, file)).items()
            if isinstance(value, torch.Tensor)
        }
        if not all(isinstance(name, str) for name in tensors):
            raise ValueError("tensors must have names")
        for value in tensors.values():
            check_size(value.nbytes, file_bytes, file)

    def read(name):
        value = tensors[name]
        return (value.float() if value.dtype == torch.bfloat16 else value).numpy()

    return StoredTensors({name: tuple(v.shape) for name, v in tensors.items()}, read)


def _load(torch, file):
    try:
        return torch.load(file, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        # PyTorch's message recommends executing the file.
        lines = [line for line in str(error).splitlines() if "GLOBAL" in line]
        reason = lines[0] if lines else "it is no pickle of tensors"
        raise ValueError(f"{reason}; nothing in it was executed") from error
