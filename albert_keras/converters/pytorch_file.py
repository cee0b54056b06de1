"""PyTorch's `.bin` files, read as data: nothing in them is executed.

A `.bin` file is a pickle, which may call any function of any module when it is read in
the usual way. This reader knows the few names that tensors are made of, and refuses all
others, as `torch.load(weights_only=True)` does; it needs no PyTorch, and takes memory
for one tensor at a time.
"""

import collections
import math
import os
import pickle
import struct
import typing
import zipfile

import ml_dtypes
import numpy as np

from albert_keras.converters.stored_tensors import (
    StoredTensors,
    check_size,
    readable,
)

_MAGIC = 0x1950A86A20F9469CFC6C
_DTYPES = {
    "FloatStorage": np.dtype("<f4"),
    "DoubleStorage": np.dtype("<f8"),
    "HalfStorage": np.dtype("<f2"),
    "BFloat16Storage": np.dtype(ml_dtypes.bfloat16),
    "LongStorage": np.dtype("<i8"),
    "IntStorage": np.dtype("<i4"),
}
_ERRORS = (
    pickle.UnpicklingError,
    zipfile.BadZipFile,
    struct.error,
    # What unpickling damaged bytes may raise.
    ArithmeticError,
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,
    NotImplementedError,
    OSError,
    RecursionError,
    TypeError,
    UnicodeDecodeError,
    ValueError,
)


# Tuples, which nothing in a pickle can change once they are made.


class _Storage(typing.NamedTuple):
    """Numbers in the file: of what kind, under which key, how many."""

    dtype: np.dtype
    key: str
    size: int


class _Tensor(typing.NamedTuple):
    """A view of a storage, and how many of its numbers it reaches."""

    storage: _Storage
    offset: int
    shape: tuple
    strides: tuple
    end: int


def read_pytorch(file):
    """Returns the tensors of a state dict that `torch.save` wrote, as `StoredTensors`.

    Args:
        file: path of a file in the format of PyTorch 1.6 and later, a zip archive, or
            in the one before.

    Raises:
        ValueError: If the file is damaged, names anything that is not part of a tensor,
            or states more than it holds.
    """
    with readable(file, *_ERRORS):
        read_content = _read_archive if zipfile.is_zipfile(file) else _read_legacy
        content, read_storage = read_content(file)
        tensors = {
            name: value
            for name, value in dict(content).items()
            if isinstance(value, _Tensor)
        }
        if not all(isinstance(name, str) for name in tensors):
            raise ValueError("tensors must have names")

    def read(name):
        tensor = tensors[name]
        with readable(file, *_ERRORS):
            numbers = np.frombuffer(read_storage(tensor.storage), tensor.storage.dtype)
            # Of what was read, whatever the file states of itself.
            if tensor.end > numbers.size:
                raise ValueError(f"{name} lies beyond the {numbers.size} numbers there")
            item_bytes = numbers.itemsize
            return np.lib.stride_tricks.as_strided(
                numbers[tensor.offset :],
                tensor.shape,
                [stride * item_bytes for stride in tensor.strides],
                writeable=False,
            )

    return StoredTensors({name: tensors[name].shape for name in tensors}, read)


def _read_archive(file):
    """Returns the pickled content of a zip archive, and a reader of its storages."""
    with zipfile.ZipFile(file) as archive:
        (pickled,) = [n for n in archive.namelist() if n.endswith("/data.pkl")]
        root = pickled.removesuffix("data.pkl")
        content = _RestrictedUnpickler(archive.open(pickled)).load()
        if f"{root}byteorder" in archive.namelist():
            _check_little_endian(archive.read(f"{root}byteorder"))

    def read_storage(storage):
        with zipfile.ZipFile(file) as archive:
            member = archive.getinfo(f"{root}data/{storage.key}")
            if member.compress_type != zipfile.ZIP_STORED:
                raise ValueError(f"{member.filename} must not be compressed")
            available_bytes = min(member.compress_size, member.file_size)
            _check_storage(storage, available_bytes, file)
            return archive.read(member)

    return content, read_storage


def _read_legacy(file):
    """Returns the pickled content of a file before 1.6, and a reader of its storages."""
    with open(file, "rb") as stream:
        magic, _, system = (_RestrictedUnpickler(stream).load() for _ in range(3))
        if magic != _MAGIC:
            raise ValueError("it does not begin as PyTorch's files do")
        _check_little_endian(b"little" if system["little_endian"] else b"big")
        unpickler = _RestrictedUnpickler(stream)
        content = unpickler.load()
        places = {}
        for key in _RestrictedUnpickler(stream).load():
            storage = unpickler.storages[key]
            (size,) = struct.unpack("<q", stream.read(8))
            if size != storage.size:
                raise ValueError(
                    f"storage {key} has {size} numbers, not {storage.size}"
                )
            places[key] = stream.tell()
            stream.seek(size * storage.dtype.itemsize, os.SEEK_CUR)

    def read_storage(storage):
        place = places[storage.key]
        _check_storage(storage, os.path.getsize(file) - place, file)
        with open(file, "rb") as stream:
            stream.seek(place)
            return stream.read(storage.size * storage.dtype.itemsize)

    return content, read_storage


def _check_storage(storage, available_bytes, file):
    name = f"storage {storage.key}"
    check_size(name, (storage.size,), storage.dtype.itemsize, available_bytes, file)


def _check_little_endian(byte_order):
    if byte_order != b"little":
        raise ValueError(f"its numbers must be little-endian, not {byte_order!r}")


def _rebuild_tensor(storage, offset, shape, strides, *_):
    # What follows says how the tensor was trained.
    if not isinstance(storage, _Storage):
        raise ValueError(f"a tensor must have a storage, not {storage!r}")
    sizes = (offset, *shape, *strides)
    if not all(type(size) is int and size >= 0 for size in sizes):
        raise ValueError(f"{sizes} must be integers, and not negative")
    steps = zip(shape, strides, strict=True)
    last = offset + sum((size - 1) * stride for size, stride in steps)
    end = 0 if 0 in shape else max(last + 1, math.prod(shape))
    if end > storage.size:
        raise ValueError(
            f"a tensor of shape {shape} reads {end} numbers of {storage.size}"
        )
    return _Tensor(storage, offset, tuple(shape), tuple(strides), end)


_KNOWN = {
    ("collections", "OrderedDict"): collections.OrderedDict,
    ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor,
    ("torch._utils", "_rebuild_parameter"): lambda data, *_: data,
    **{("torch", name): name for name in _DTYPES},
}


class _RestrictedUnpickler(pickle._Unpickler):
    """Knows what state dicts are made of; `storages` holds the storages it met.

    In Python, since the one in C takes memory for whatever places a file states.
    """

    def __init__(self, stream):
        super().__init__(stream)
        self.storages = {}

    def find_class(self, module, name):
        if (module, name) not in _KNOWN:
            raise pickle.UnpicklingError(
                f"it names {module}.{name}, which is no part of a tensor; nothing in it "
                "was executed"
            )
        return _KNOWN[module, name]

    def persistent_load(self, persistent_id):
        _, storage_type, key, _, size, *_ = persistent_id
        storage = _Storage(_DTYPES[storage_type], str(key), size)
        if type(size) is not int or size < 0:
            raise ValueError(f"storage {key} must have a size, not {size!r}")
        return self.storages.setdefault(storage.key, storage)
