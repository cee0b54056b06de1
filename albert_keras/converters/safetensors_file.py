"""Files of safetensors: reader and writer of NumPy arrays."""

import shutil

import numpy as np
import safetensors.numpy

from albert_keras.converters.stored_tensors import StoredTensors, readable

# Errors of the library for damaged files, and for types that NumPy lacks.
_ERRORS = (
    *(safetensors.SafetensorError, OSError, ValueError, TypeError),
    *(AttributeError, KeyError),
)


def read_safetensors(file):
    """Returns the `StoredTensors` of a file, which stays open as long as they are used.

    The library checks that the tensors lie in the file without overlap.
    """
    with readable(file, *_ERRORS):
        content = safetensors.safe_open(file, framework="numpy")
        names = content.keys()
        shapes = {name: tuple(content.get_slice(name).get_shape()) for name in names}

    def read(name):
        with readable(file, *_ERRORS):
            return content.get_tensor(name)

    return StoredTensors(shapes, read)


def write_safetensors(file, arrays):
    """Writes a dict of arrays, with the permissions of the `config.json` beside them."""
    arrays = {name: np.ascontiguousarray(value) for name, value in arrays.items()}
    safetensors.numpy.save_file(arrays, file, metadata={"format": "pt"})
    # The library ignores the umask: only the owner could read the file.
    shutil.copymode(file.with_name("config.json"), file)
