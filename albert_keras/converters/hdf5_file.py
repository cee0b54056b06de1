"""HDF5 files of weights, read without following links to other files."""

import os

import h5py
import ml_dtypes
import numpy as np

from albert_keras.converters import stored_tensors

# Errors of h5py, and of Keras with it, for damaged files.
HDF5_ERRORS = (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError)


def read_hdf5(file):
    """Returns the data sets of a file by their paths, as `StoredTensors`."""
    with stored_tensors.readable(file, *HDF5_ERRORS), h5py.File(file) as content:
        found = dict(_datasets(content, "", file, seen=set()))
        shapes = {path: data.shape for path, data in found.items()}
        num_bytes = sum(data.id.get_storage_size() for data in found.values())
        stored_tensors.check_total_size(num_bytes, os.path.getsize(file), file)

    def read(path):
        with stored_tensors.readable(file, *HDF5_ERRORS), h5py.File(file) as content:
            array = content[path][()]
            # Keras marks these arrays; HDF5 has no such type.
            is_bfloat16 = content[path].attrs.get("dtype") == "bfloat16"
        return array.view(ml_dtypes.bfloat16) if is_bfloat16 else array

    return stored_tensors.StoredTensors(shapes, read)


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
            stored_tensors.as_weight(f"{path} in '{file}'", array, np.float32)
    return tensors


def _datasets(group, prefix, file, seen):
    """Yields the paths and data sets below a group; `seen` holds addresses."""
    for name in group:
        path = f"{prefix}{name}"
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            raise ValueError(f"{path} is a link; weights must lie in the file itself")
        found = group[name]
        address = h5py.h5o.get_info(found.id).addr
        if address in seen:
            raise ValueError(f"{path} is in the file under another name too")
        seen.add(address)
        if isinstance(found, h5py.Group):
            yield from _datasets(found, f"{path}/", file, seen)
        elif not isinstance(found, h5py.Dataset):
            raise ValueError(f"{path} is neither a group nor a data set")
        else:
            if found.external or found.is_virtual:
                raise ValueError(f"{path} must lie in the file itself")
            stored_bytes = found.id.get_storage_size()
            stored_tensors.check_size(
                path, found.shape, found.dtype.itemsize, stored_bytes, file
            )
            yield path, found
