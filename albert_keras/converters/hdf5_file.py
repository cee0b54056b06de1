"""HDF5 files of weights, read as data: no link to another file is followed."""

import h5py

from albert_keras.converters.stored_tensors import StoredTensors, check_size, readable

# What h5py, and Keras with it, raise on damaged files.
HDF5_ERRORS = (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError)


def read_hdf5(file):
    """Returns the data sets of a file by their paths, as `StoredTensors`."""
    with readable(file, *HDF5_ERRORS), h5py.File(file) as content:
        shapes = dict(_datasets(content, "", file, seen=set()))

    def read(path):
        with readable(file, *HDF5_ERRORS), h5py.File(file) as content:
            return content[path][()]

    return StoredTensors(shapes, read)


def _datasets(group, prefix, file, seen):
    """Yields `(path, shape)` of all data sets below a group; `seen` holds addresses."""
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
            check_size(path, found.shape, found.dtype.itemsize, stored_bytes, file)
            yield path, found.shape
