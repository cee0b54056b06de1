"""Tensors in files, and HDF5 files with more than weights."""

import h5py
import ml_dtypes
import numpy as np
import pytest

from albert_keras.converters.stored_tensors import as_weight
from albert_keras.converters.weight_files import read_hdf5
from tests.helpers import stored_arrays

ARRAYS = {"kernel": np.arange(6.0).reshape(2, 3), "bias": np.ones(3)}


def test_one_name_for_two_tensors_is_refused():
    with pytest.raises(ValueError, match="different names. Received twice: kernel"):
        stored_arrays(ARRAYS).renamed({"kernel": "both", "bias": "both"})


def test_nothing_is_read_before_it_is_asked_for():
    read = []
    tensors = stored_arrays(ARRAYS)
    watched = type(tensors)(tensors.shapes, read.append).renamed({"bias": "shift"})
    assert watched.shapes == {"shift": (3,)}
    assert "shift" in watched
    assert read == []
    watched.read("shift")
    assert read == ["bias"]


@pytest.mark.parametrize("dtype", ["float16", "float32", ml_dtypes.bfloat16])
def test_weights_are_finite(dtype):
    with pytest.raises(ValueError, match="bias with 2 values"):
        as_weight("bias", np.array([np.nan, np.inf, 2.0], dtype), "float32")
    # In the type of the variable.
    with pytest.raises(ValueError, match="bias with 1 values"):
        as_weight("bias", np.array([1e300, 2.0]), dtype)


@pytest.mark.parametrize("dtype", ["int64", "bool", "complex64", "S3", "V2"])
def test_weights_are_floating_point_numbers(dtype):
    with pytest.raises(ValueError, match="floating-point.*bias of type"):
        as_weight("bias", np.ones(3, dtype), "float32")


# === HDF5 files: intact, with links, and with less than they state ===


@pytest.fixture
def file(tmp_path):
    folder = tmp_path / "whole"
    folder.mkdir()
    with h5py.File(folder / "w.h5", "w") as content:
        content["layer/kernel:0"] = np.arange(15.0).reshape(3, 5)
        content["layer/inner/bias:0"] = np.ones(7, "float32")
    return folder / "w.h5"


def test_all_data_sets_are_found(file):
    tensors = read_hdf5(file)
    assert tensors.shapes == {"layer/kernel:0": (3, 5), "layer/inner/bias:0": (7,)}
    assert (tensors.read("layer/kernel:0") == np.arange(15.0).reshape(3, 5)).all()


def test_links_are_not_followed_and_objects_are_read_once(file, tmp_path):
    with h5py.File(tmp_path / "secret.h5", "w") as content:
        content["key"] = np.ones(3)
    with h5py.File(file, "a") as content:
        content["layer/out"] = h5py.ExternalLink(str(tmp_path / "secret.h5"), "/key")
        content["again"] = content["layer"]
        content["layer/above"] = content["/"]
    assert len(read_hdf5(file).shapes) == 2


def test_numbers_in_other_files_are_not_read(file, tmp_path):
    (tmp_path / "secret").write_bytes(bytes(24))
    with h5py.File(file, "a") as content:
        content.create_dataset(
            "out", (3,), "float64", external=[(str(tmp_path / "secret"), 0, 24)]
        )
    with pytest.raises(ValueError, match="out must lie in the file itself"):
        read_hdf5(file)


def test_more_than_the_file_holds_is_refused(file):
    with h5py.File(file, "a") as content:
        # Never written: a terabyte of zeros, if it were believed.
        content.create_dataset("zeros", (2**38,), "float32", chunks=(2**20,))
    with pytest.raises(ValueError, match="larger than the file.*: 1099511627924 bytes"):
        read_hdf5(file)
