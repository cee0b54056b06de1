"""Files of weights: intact, with code or links in them, and with false sizes."""

import collections
import json
import os
import sys

import h5py
import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy
import tensorflow as tf

from albert_keras.converters.stored_tensors import as_weight
from albert_keras.converters.tensorflow_file import read_tensorflow, write_tensorflow
from albert_keras.converters.weight_files import (
    read_hdf5,
    read_pytorch,
    read_safetensors,
)
from tests.helpers import stored_arrays

ARRAYS = {"a/kernel": np.arange(15.0).reshape(3, 5), "a/bias": np.ones(7, "float16")}


def write_hdf5(file, arrays):
    with h5py.File(file, "w") as content:
        for name, value in arrays.items():
            content[name] = value


@pytest.mark.parametrize(
    ("write", "read"),
    [
        (write_hdf5, read_hdf5),
        (lambda f, arrays: safetensors.numpy.save_file(arrays, f), read_safetensors),
        (write_tensorflow, read_tensorflow),
    ],
    ids=["hdf5", "safetensors", "tensorflow"],
)
def test_tensors_are_read_by_name(write, read, tmp_path):
    write(tmp_path / "weights", ARRAYS)
    tensors = read(tmp_path / "weights")
    assert tensors.shapes == {"a/kernel": (3, 5), "a/bias": (7,)}
    assert all((tensors.read(name) == ARRAYS[name]).all() for name in ARRAYS)


def check_is_one_line(message, path):
    assert len(message) < 500 + len(str(path))
    assert "\n" not in message


# === `StoredTensors` ===


def test_one_name_for_two_tensors_is_refused():
    with pytest.raises(ValueError, match="different names. Received twice: a/kernel"):
        stored_arrays(ARRAYS).renamed({"a/kernel": "both", "a/bias": "both"})


def test_nothing_is_read_before_it_is_asked_for():
    read = []
    tensors = stored_arrays(ARRAYS)
    watched = type(tensors)(tensors.shapes, read.append).renamed({"a/bias": "shift"})
    assert watched.shapes == {"shift": (7,)}
    assert "shift" in watched
    assert read == []
    watched.read("shift")
    assert read == ["a/bias"]


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


# === HDF5 ===


@pytest.fixture
def hdf5(tmp_path):
    write_hdf5(tmp_path / "w.h5", ARRAYS)
    return tmp_path / "w.h5"


def test_links_are_not_followed_and_objects_are_read_once(hdf5, tmp_path):
    write_hdf5(tmp_path / "secret.h5", {"key": np.ones(3)})
    with h5py.File(hdf5, "a") as content:
        content["a/out"] = h5py.ExternalLink(str(tmp_path / "secret.h5"), "/key")
        content["again"] = content["a"]
        content["a/above"] = content["/"]
    assert len(read_hdf5(hdf5).shapes) == 2


def test_numbers_in_other_files_are_not_read(hdf5, tmp_path):
    (tmp_path / "secret").write_bytes(bytes(24))
    external = [(str(tmp_path / "secret"), 0, 24)]
    with h5py.File(hdf5, "a") as content:
        content.create_dataset("out", (3,), "float64", external=external)
    with pytest.raises(ValueError, match="out must lie in the file itself"):
        read_hdf5(hdf5)


def test_more_than_the_file_holds_is_refused(hdf5):
    with h5py.File(hdf5, "a") as content:
        # Never written: a terabyte of zeros, if it were believed.
        content.create_dataset("zeros", (2**38,), "float32", chunks=(2**20,))
    with pytest.raises(ValueError, match="larger than the file.*: 1099511627910 bytes"):
        read_hdf5(hdf5)


# === safetensors ===


def entry(start, end, shape, dtype="F32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


@pytest.mark.parametrize(
    "entries",
    [
        {"a": entry(0, 16, [4]), "b": entry(8, 24, [4])},
        {"a": entry(0, 2**62, [2**60])},
        {"a": entry(0, 24, [2**62, 2**62])},
        {"a": entry(-8, 16, [6])},
        {"a": entry(0, 24, [24], "F8_E4M3")},
        {"a": entry(0, 24, [6], "X" * 10_000)},
        {"a": {"dtype": {}}},
        2**60,
    ],
    ids=str,
)
def test_false_headers_give_one_line(entries, tmp_path):
    header = json.dumps(entries).encode()
    length = entries if isinstance(entries, int) else len(header)
    content = length.to_bytes(8, "little") + header + bytes(24)
    (tmp_path / "w.safetensors").write_bytes(content)
    with pytest.raises(ValueError, match="cannot be read") as caught:
        read_safetensors(tmp_path / "w.safetensors").read("a")
    check_is_one_line(str(caught.value), tmp_path)


# === TensorFlow ===


def test_variables_by_object_have_their_graph_names(tmp_path):
    module = tf.Module()
    module.inner = [tf.Variable([1.0, 2.0], name="scope/name")]
    tf.train.Checkpoint(root=module).write(str(tmp_path / "model.ckpt"))
    tensors = read_tensorflow(tmp_path / "model.ckpt")
    assert tensors.shapes["scope/name"] == (2,)
    assert tensors.read("scope/name").tolist() == [1.0, 2.0]


def test_checkpoint_files_naming_other_folders_are_not_followed(tmp_path):
    write_tensorflow(tmp_path / "model.ckpt", ARRAYS)
    write_tensorflow(tmp_path / "secret.ckpt", {"a/bias": np.full(7, 42.0, "float32")})
    (tmp_path / "model.ckpt").mkdir()
    (tmp_path / "model.ckpt" / "checkpoint").write_text(
        f'model_checkpoint_path: "{tmp_path}/secret.ckpt"'
    )
    tensors = read_tensorflow(tmp_path / "model.ckpt")
    assert tensors.read("a/bias").tolist() == [1.0] * 7


# === PyTorch ===


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


@pytest.fixture(params=[True, False], ids=["archive", "legacy"])
def save(torch, request, tmp_path):
    """Function that saves an object in one of PyTorch's formats."""

    def save(content):
        options = {"_use_new_zipfile_serialization": request.param}
        torch.save(content, tmp_path / "w.bin", **options)
        return tmp_path / "w.bin"

    return save


def test_tensors_are_those_that_were_saved(torch, save):
    table = torch.arange(55.0).reshape(11, 5)
    expected = collections.OrderedDict(
        table=table,
        # Shares its numbers with the table, and is not contiguous.
        transposed=table.t(),
        rows=table[3:7],
        parameter=torch.nn.Parameter(torch.ones(3)),
        half=torch.full((2, 3), 1.5).half(),
        bfloat16=torch.tensor([0.5, 3.0]).bfloat16(),
        positions=torch.arange(13),
        scalar=torch.tensor(2.5),
    )
    tensors = read_pytorch(save(expected))
    assert tensors.shapes == {name: tuple(v.shape) for name, v in expected.items()}
    for name, value in expected.items():
        received = tensors.read(name)
        assert (received.astype("float64") == value.detach().double().numpy()).all()


class Attack:
    def __init__(self, target):
        self.target = target

    def __reduce__(self):
        return os.mkdir, (str(self.target),)


def test_nothing_in_a_file_is_executed(torch, save, tmp_path):
    target = tmp_path / "executed"
    file = save({"weight": torch.ones(3), "attack": Attack(target)})
    with pytest.raises(ValueError, match=r"posix.mkdir.*nothing in it was") as caught:
        read_pytorch(file)
    check_is_one_line(str(caught.value), tmp_path)
    assert not target.exists()
    torch.load(file, weights_only=False)
    assert target.exists(), "the attack does nothing"


def test_larger_views_and_tensors_without_names_are_refused(torch, save):
    larger = {"weight": torch.zeros(1).expand(2**40)}
    messages = "must not be larger.*: 4398046511104 bytes", "tensors must have names"
    for content, message in zip((larger, {0: torch.ones(3)}), messages, strict=True):
        with pytest.raises(ValueError, match=message):
            read_pytorch(save(content))


def test_without_pytorch_the_command_that_installs_it_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"pip install .*albert_keras\[peers\]"):
        read_pytorch(tmp_path / "w.bin")
