"""Files of weights: HDF5, safetensors, and PyTorch's `.bin`, read as NumPy arrays."""

import os
import pickle
import shutil

import h5py
import ml_dtypes
import numpy as np
import safetensors.numpy

from albert_keras.checks import import_optional
from albert_keras.converters.stored_tensors import (
    StoredTensors,
    as_weight,
    check_size,
    readable,
)


def read_hdf5(file):
    """Returns the data sets of a file by their paths, as `StoredTensors`."""
    shapes, num_bytes = {}, 0

    def visit(path, found):
        nonlocal num_bytes
        if isinstance(found, h5py.Dataset):
            if found.external or found.is_virtual:
                raise ValueError(f"{path} must lie in the file itself")
            shapes[path] = found.shape
            num_bytes += found.nbytes

    with readable(file), h5py.File(file) as content:
        # Follows no links to other files, and visits each object once.
        content.visititems(visit)
        check_size(num_bytes, os.path.getsize(file), file)

    def read(path):
        with readable(file), h5py.File(file) as content:
            array = content[path][()]
            # Keras marks these arrays; HDF5 has no such type.
            is_bfloat16 = content[path].attrs.get("dtype") == "bfloat16"
        return array.view(ml_dtypes.bfloat16) if is_bfloat16 else array

    return StoredTensors(shapes, read)


def read_keras_weights(file, may_be_quantized=False):
    """Checks all tensors of a file that Keras wrote; returns its `StoredTensors`."""
    tensors = read_hdf5(file)
    for path in tensors.shapes:
        # keras-hub saves the optimizer of a compiled model, which is never loaded.
        if path.startswith("optimizer/"):
            continue
        array = tensors.read(path)
        if not (may_be_quantized and array.dtype == np.int8):
            # Only a check. A finite float64 may be infinite as float32.
            as_weight(f"{path} in '{file}'", array, np.float32)
    return tensors


def weights_of_preset(folder):
    """Returns the path of a preset's weights, and the files that hold them.

    With `max_shard_size` keras-hub writes several files and lists them in JSON.
    """
    file = folder / "model.weights.h5"
    if file.is_file():
        return file, [file]
    return file.with_suffix(".json"), [*folder.glob("model_[0-9]*.weights.h5")]


def read_safetensors(file):
    """Returns the `StoredTensors` of a file, which stays open as long as they are used.

    The library checks that the tensors lie in the file without overlap.
    """
    with readable(file):
        content = safetensors.safe_open(file, framework="numpy")
        names = content.keys()
        shapes = {name: tuple(content.get_slice(name).get_shape()) for name in names}

    def read(name):
        with readable(file):
            return content.get_tensor(name)

    return StoredTensors(shapes, read)


def write_safetensors(file, arrays):
    """Writes a dict of arrays, with the permissions of the `config.json` beside them."""
    arrays = {name: np.ascontiguousarray(value) for name, value in arrays.items()}
    safetensors.numpy.save_file(arrays, file, metadata={"format": "pt"})
    # The library ignores the umask: only the owner could read the file.
    shutil.copymode(file.with_name("config.json"), file)


def read_pytorch(file):
    """Returns the tensors of a state dict that `torch.save` wrote, as `StoredTensors`.

    PyTorch reads only tensors, and executes nothing in the file. bfloat16, which NumPy
    lacks, becomes float32.

    Raises:
        ImportError: If PyTorch is absent.
        ValueError: If the file is damaged, or holds anything but named tensors.
    """
    torch = import_optional("torch", "peers")
    with readable(file):
        content = _load_pytorch(torch, file)
        tensors = {
            n: v.detach() for n, v in dict(content).items() if torch.is_tensor(v)
        }
        if not all(isinstance(name, str) for name in tensors):
            raise ValueError("tensors must have names")
        for value in tensors.values():
            check_size(value.nbytes, os.path.getsize(file), file)

    def read(name):
        value = tensors[name]
        return (value.float() if value.dtype == torch.bfloat16 else value).numpy()

    return StoredTensors({name: tuple(v.shape) for name, v in tensors.items()}, read)


def _load_pytorch(torch, file):
    try:
        return torch.load(file, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        # PyTorch's message recommends executing the file.
        lines = [line for line in str(error).splitlines() if "GLOBAL" in line]
        reason = lines[0] if lines else "it is no pickle of tensors"
        raise ValueError(f"{reason}; nothing in it was executed") from error
