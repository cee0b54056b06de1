"""Files of safetensors, read as NumPy arrays on demand."""

import safetensors

from albert_keras.converters.stored_tensors import StoredTensors, readable

# What the library raises on damaged files, and for types that NumPy does not have.
_ERRORS = (
    *(safetensors.SafetensorError, OSError, ValueError, TypeError),
    *(AttributeError, KeyError),
)


def read_safetensors(file):
    """Returns the `StoredTensors` of a file, which stays open as long as they are used.

    The library checks that tensors lie in the file, one after the other.
    """
    with readable(file, *_ERRORS):
        content = safetensors.safe_open(file, framework="numpy")
        names = content.keys()
        shapes = {name: tuple(content.get_slice(name).get_shape()) for name in names}

    def read(name):
        with readable(file, *_ERRORS):
            return content.get_tensor(name)

    return StoredTensors(shapes, read)
