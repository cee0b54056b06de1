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
    shapes, num_bytes = {}, 0

    def visit(path, found):
        nonlocal num_bytes
        if isinstance(found, h5py.Dataset):
            if found.external or found.is_virtual:
                raise ValueError(f"{path} must lie in the file itself")
            shapes[path] = found.shape
            num_bytes += found.nbytes

    with stored_tensors.readable(file, *HDF5_ERRORS), h5py.File(file) as content:
        # Follows no links to other files, and visits each object once.
        content.visititems(visit)
        stored_tensors.check_size(num_bytes, os.path.getsize(file), file)

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
