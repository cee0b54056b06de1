"""HDF5 files: intact, damaged, and with links and types that weights do not have."""

import h5py
import numpy as np
import pytest

from albert_keras.converters.hdf5_file import read_hdf5
from tests.converters.damaged_files import check_damage_is_one_clear_error


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


def test_damage(file, tmp_path):
    def load(folder):
        tensors = read_hdf5(folder / "w.h5")
        return [tensors.read(name) for name in tensors.shapes]

    check_damage_is_one_clear_error(load, file.parent, "w.h5", tmp_path)


def test_links_to_other_files_are_not_followed(file, tmp_path):
    with h5py.File(tmp_path / "secret.h5", "w") as content:
        content["key"] = np.ones(3)
    with h5py.File(file, "a") as content:
        content["layer/out"] = h5py.ExternalLink(str(tmp_path / "secret.h5"), "/key")
    with pytest.raises(ValueError, match="layer/out is a link"):
        read_hdf5(file)


def test_numbers_in_other_files_are_not_read(file, tmp_path):
    (tmp_path / "secret").write_bytes(bytes(24))
    with h5py.File(file, "a") as content:
        content.create_dataset(
            "out", (3,), "float64", external=[(str(tmp_path / "secret"), 0, 24)]
        )
    with pytest.raises(ValueError, match="out must lie in the file itself"):
        read_hdf5(file)


def test_two_names_of_a_data_set_are_refused(file):
    with h5py.File(file, "a") as content:
        content["again"] = content["layer"]
    with pytest.raises(ValueError, match="is in the file under another name too"):
        read_hdf5(file)


def test_types_are_no_weights(file):
    with h5py.File(file, "a") as content:
        content["a_type"] = np.dtype("float32")
    with pytest.raises(ValueError, match="a_type is neither a group nor a data set"):
        read_hdf5(file)


def test_more_than_the_file_holds_is_refused(file):
    with h5py.File(file, "a") as content:
        # Never written: a terabyte of zeros, if it were believed.
        content.create_dataset("zeros", (2**38,), "float32", chunks=(2**20,))
    with pytest.raises(ValueError, match="zeros of shape .*1099511627776 bytes"):
        read_hdf5(file)
