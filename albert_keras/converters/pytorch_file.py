"""PyTorch's `.bin` files, read as NumPy arrays on demand."""

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

    PyTorch reads only tensors, and executes nothing in the file. It maps an archive, the
    format since PyTorch 1.6, into memory, and reads older files whole. bfloat16, which
    NumPy lacks, becomes float32.

    Raises:
        ImportError: If PyTorch is absent.
        ValueError: If the file is damaged, or holds anything but named tensors.
    """
    torch = import_optional("torch", "peers")
    file_bytes = os.path.getsize(file)
    with readable(file, *_ERRORS):
        is_archive = zipfile.is_zipfile(file)
        record_bytes = _record_bytes(file) if is_archive else None
        tensors = {
            name: value.detach()
            for name, value in dict(_load(torch, file, is_archive)).items()
            if isinstance(value, torch.Tensor)
        }
        if not all(isinstance(name, str) for name in tensors):
            raise ValueError("tensors must have names")
        for name, value in tensors.items():
            storage_bytes = value.untyped_storage().nbytes()
            # PyTorch would read beyond a record, into other parts of the file.
            if is_archive and storage_bytes not in record_bytes:
                raise ValueError(f"{name} has no record of {storage_bytes} bytes")
            check_size(name, value.shape, value.element_size(), file_bytes, file)

    def read(name):
        value = tensors[name]
        return (value.float() if value.dtype == torch.bfloat16 else value).numpy()

    return StoredTensors({name: tuple(v.shape) for name, v in tensors.items()}, read)


def _record_bytes(file):
    """Returns the sizes of an archive's records, which must not be compressed."""
    with zipfile.ZipFile(file) as archive:
        records = archive.infolist()
    if any(record.compress_type != zipfile.ZIP_STORED for record in records):
        raise ValueError("its records must not be compressed")
    return {record.file_size for record in records}


def _load(torch, file, is_archive):
    try:
        return torch.load(file, map_location="cpu", weights_only=True, mmap=is_archive)
    except pickle.UnpicklingError as error:
        # PyTorch's message recommends executing the file.
        lines = [line for line in str(error).splitlines() if "GLOBAL" in line]
        reason = lines[0] if lines else "it is no pickle of tensors"
        raise ValueError(f"{reason}; nothing in it was executed") from error
