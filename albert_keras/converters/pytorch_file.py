"""PyTorch's `.bin` files, read by PyTorch as tensors alone, without executing code."""

import os
import pickle
import struct
import zipfile

from albert_keras.checks import import_optional
from albert_keras.converters.stored_tensors import StoredTensors, check_size, readable

# What PyTorch raises on damaged files.
_ERRORS = (
    *(ArithmeticError, AssertionError, AttributeError, EOFError, LookupError, OSError),
    *(RuntimeError, TypeError, ValueError, pickle.UnpicklingError, struct.error),
    zipfile.BadZipFile,
)


def read_pytorch(file):
    """Returns the tensors of a state dict that `torch.save` wrote, as `StoredTensors`.

    The numbers of an archive, the format since PyTorch 1.6, stay in the file until they
    are used; older files are read whole.
    """
    torch = import_optional("torch", "peers")
    with readable(file, *_ERRORS):
        is_archive = zipfile.is_zipfile(file)
        record_bytes = _record_bytes(file) if is_archive else None
        content = _load(torch, file, is_archive)
        tensors = {
            name: value.detach()
            for name, value in dict(content).items()
            if isinstance(value, torch.Tensor)
        }
        if not all(isinstance(name, str) for name in tensors):
            raise ValueError("tensors must have names")
        for name, value in tensors.items():
            storage_bytes = value.untyped_storage().nbytes()
            # Beyond its record PyTorch would read other parts of the file.
            if is_archive and storage_bytes not in record_bytes:
                raise ValueError(f"{name} has no record of {storage_bytes} bytes")
            size = os.path.getsize(file)
            check_size(name, value.shape, value.element_size(), size, file)

    def read(name):
        value = tensors[name]
        # NumPy has no bfloat16.
        return (value.float() if value.dtype == torch.bfloat16 else value).numpy()

    shapes = {name: tuple(value.shape) for name, value in tensors.items()}
    return StoredTensors(shapes, read)


def _record_bytes(file):
    """Returns the sizes of an archive's records, none of which may be compressed."""
    with zipfile.ZipFile(file) as archive:
        records = archive.infolist()
    if any(record.compress_type != zipfile.ZIP_STORED for record in records):
        raise ValueError("its records must not be compressed")
    return {record.file_size for record in records}


def _load(torch, file, is_archive):
    try:
        return torch.load(file, map_location="cpu", weights_only=True, mmap=is_archive)
    except pickle.UnpicklingError as error:
        # PyTorch's own advice is to execute the file.
        lines = [line for line in str(error).splitlines() if "GLOBAL" in line]
        reason = lines[0] if lines else "it is no pickle of tensors"
        raise ValueError(f"{reason}; nothing in it was executed") from error
