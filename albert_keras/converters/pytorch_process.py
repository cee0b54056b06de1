"""Program that rewrites a PyTorch file as safetensors, in a process with limits.

PyTorch's reader of tensors alone executes no code, but a crafted pickle can still take
its memory or time without end, or crash it. Linux limits both, macOS the time alone, and
Windows neither. `python -m albert_keras.converters.pytorch_process FILE TARGET` prints
one line where it fails.
"""

import os
import pathlib
import pickle
import struct
import sys
import zipfile

import safetensors.numpy

from albert_keras.checks import import_optional
from albert_keras.converters.stored_tensors import (
    check_size,
    check_total_size,
    readable,
)

# What PyTorch and safetensors raise on damaged files.
_ERRORS = (
    *(ArithmeticError, AssertionError, AttributeError, EOFError, LookupError, OSError),
    *(RuntimeError, TypeError, ValueError, pickle.UnpicklingError, struct.error),
    *(zipfile.BadZipFile, NotImplementedError),
)
# Exit statuses, of errors whose message is printed.
ERRORS = {1: ValueError, 3: ImportError}
# Beside three times the file: mapped, copied, and as safetensors takes it.
_SPARE_BYTES = 2**28
_CPU_SECONDS, _CPU_SECONDS_PER_BYTE = 10, 2e-8


def rewrite(file, target):
    """Writes the tensors of a state dict that `torch.save` wrote as safetensors.

    The numbers of an archive, the format since PyTorch 1.6, are mapped from the file;
    older files are read whole. bfloat16, which NumPy does not have, becomes float32.

    Raises:
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
            # Beyond its record PyTorch would read other parts of the file.
            if is_archive and storage_bytes not in record_bytes:
                raise ValueError(f"{name} has no record of {storage_bytes} bytes")
            check_size(name, value.shape, value.element_size(), file_bytes, file)
        num_bytes = sum(
            value.numel() * value.element_size() for value in tensors.values()
        )
        # Tied tensors share their numbers.
        check_total_size(num_bytes, 2 * file_bytes, file)
        arrays = {
            name: (value.float() if value.dtype == torch.bfloat16 else value).numpy()
            for name, value in tensors.items()
        }
        safetensors.numpy.save_file(
            {name: array.copy(order="C") for name, array in arrays.items()}, target
        )


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


def _limit_this_process(file_bytes):
    """Limits memory and time to what a file of this size needs, where systems can."""
    try:
        import resource
    except ImportError:  # Windows.
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = used.ru_utime + used.ru_stime + _CPU_SECONDS
    limits = {
        resource.RLIMIT_CPU: int(seconds + _CPU_SECONDS_PER_BYTE * file_bytes),
        resource.RLIMIT_CORE: 0,
    }
    status = pathlib.Path("/proc/self/status")
    if status.is_file():
        (taken,) = (s.split() for s in status.read_text().splitlines() if "VmData" in s)
        num_bytes = int(taken[1]) * 1024 + 3 * file_bytes + _SPARE_BYTES
        limits[resource.RLIMIT_DATA] = num_bytes
    for kind, limit in limits.items():
        _, largest = resource.getrlimit(kind)
        if largest != resource.RLIM_INFINITY:
            limit = min(limit, largest)
        resource.setrlimit(kind, (limit, largest))


def main(file, target):
    """Rewrites a file under limits; if it cannot, prints why and returns the status."""
    try:
        torch = import_optional("torch", "peers")
        # Each thread would take memory for its stack.
        torch.set_num_threads(1)
        _limit_this_process(os.path.getsize(file))
        rewrite(file, target)
    except tuple(ERRORS.values()) as error:
        print(error)
        return next(s for s, kind in ERRORS.items() if isinstance(error, kind))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
