"""PyTorch's `.bin` files: intact, damaged, and with code in them."""

import collections
import os
import pickle
import resource
import sys
import zipfile

import numpy as np
import pytest

from albert_keras.converters.pytorch_file import read_pytorch

torch = pytest.importorskip("torch")


def state_dict():
    torch.manual_seed(7)
    table = torch.randn(11, 5)
    return collections.OrderedDict(
        table=table,
        # Shares its numbers with the table, and is not contiguous.
        transposed=table.t(),
        rows=table[3:7],
        parameter=torch.nn.Parameter(torch.randn(3)),
        half=torch.randn(2, 3).half(),
        bfloat16=torch.randn(4).bfloat16(),
        positions=torch.arange(13),
        scalar=torch.tensor(2.5),
    )


@pytest.fixture(params=[True, False], ids=["archive", "legacy"])
def file(request, tmp_path):
    folder = tmp_path / "whole"
    folder.mkdir()
    torch.save(
        state_dict(),
        folder / "pytorch_model.bin",
        _use_new_zipfile_serialization=request.param,
    )
    return folder / "pytorch_model.bin"


def test_tensors_are_those_that_were_saved(file):
    tensors = read_pytorch(file)
    expected = state_dict()
    assert tensors.shapes == {name: tuple(v.shape) for name, v in expected.items()}
    for name, value in expected.items():
        received = tensors.read(name)
        assert (received.astype("float64") == value.detach().double().numpy()).all()


class Attack:
    def __init__(self, target):
        self.target = target

    def __reduce__(self):
        return os.mkdir, (str(self.target),)


@pytest.mark.parametrize("as_archive", [True, False])
def test_nothing_in_a_file_is_executed(as_archive, tmp_path):
    target = tmp_path / "executed"
    torch.save(
        {"weight": torch.ones(3), "attack": Attack(target)},
        tmp_path / "w.bin",
        _use_new_zipfile_serialization=as_archive,
    )
    with pytest.raises(ValueError, match=r"posix.mkdir.*nothing in it was") as caught:
        read_pytorch(tmp_path / "w.bin")
    assert len(str(caught.value)) < 500
    assert "\n" not in str(caught.value)
    assert not target.exists()
    torch.load(tmp_path / "w.bin", weights_only=False)
    assert target.exists(), "the attack does nothing"


def test_compressed_numbers_are_refused(tmp_path):
    torch.save({"weight": torch.zeros(1000)}, tmp_path / "w.bin")
    with (
        zipfile.ZipFile(tmp_path / "w.bin") as whole,
        zipfile.ZipFile(tmp_path / "z.bin", "w", zipfile.ZIP_DEFLATED) as bomb,
    ):
        for name in whole.namelist():
            bomb.writestr(name, whole.read(name))
    with pytest.raises(ValueError, match="must not be compressed"):
        read_pytorch(tmp_path / "z.bin")


class Storage:
    """A storage of `size` numbers in the pickles below."""

    def __init__(self, size):
        self.size = size


class Pickler(pickle.Pickler):
    def persistent_id(self, value):
        if isinstance(value, Storage):
            return "storage", torch.FloatStorage, "0", "cpu", value.size
        return None


class View:
    """A tensor as PyTorch pickles it, or with a state that it must not have."""

    def __init__(self, size, offset, shape, strides, state=None):
        self.arguments = (Storage(size), offset, shape, strides, False, None)
        self.state = state

    def __reduce__(self):
        state = () if self.state is None else (self.state,)
        return (torch._utils._rebuild_tensor_v2, self.arguments, *state)


def write_archive(file, content, num_numbers=36):
    with zipfile.ZipFile(file, "w") as archive:
        with archive.open("archive/data.pkl", "w") as stream:
            Pickler(stream, protocol=2).dump(content)
        archive.writestr("archive/data/0", np.ones(num_numbers, "float32").tobytes())
        archive.writestr("archive/version", b"3\n")


@pytest.mark.parametrize(
    "change",
    [
        {"shape": (5, 9)},
        {"offset": 40},
        {"offset": -1},
        {"strides": (9, -1)},
        {"shape": (2**62, 2**62), "strides": (0, 0), "size": 1},
        # More numbers than there are bytes in the file.
        {"shape": (2**40,), "strides": (0,)},
        # As `pickle` would set on an object that has attributes.
        {"state": {"shape": (4096,), "end": 1}},
        # More than there is.
        {"size": 45, "shape": (5, 9)},
    ],
)
def test_views_beyond_the_storage_are_refused(change, tmp_path):
    view = View(
        **{"size": 36, "offset": 0, "shape": (4, 9), "strides": (9, 1), **change}
    )
    write_archive(tmp_path / "w.bin", {"weight": view})
    with pytest.raises(ValueError, match="cannot be read|must not be larger"):
        read_pytorch(tmp_path / "w.bin").read("weight")


def test_false_sizes_of_an_archive_are_refused(tmp_path):
    view = View(45, 0, (5, 9), (9, 1))
    write_archive(tmp_path / "w.bin", {"weight": view})
    content = bytearray((tmp_path / "w.bin").read_bytes())
    # In the directory at the end, the compressed size of the numbers.
    entry = content.rindex(b"PK\x01\x02", 0, content.rindex(b"archive/data/0"))
    content[entry + 20 : entry + 24] = (180).to_bytes(4, "little")
    (tmp_path / "w.bin").write_bytes(content)
    with pytest.raises(ValueError, match="cannot be read|must not be larger"):
        read_pytorch(tmp_path / "w.bin").read("weight")


def test_memo_indices_of_a_pickle_take_no_memory(tmp_path):
    with zipfile.ZipFile(tmp_path / "w.bin", "w") as archive:
        # An empty dict with the memo index 2 ** 31.
        archive.writestr("archive/data.pkl", b"\x80\x02}r\x00\x00\x00\x80.")
        archive.writestr("archive/version", b"3\n")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert read_pytorch(tmp_path / "w.bin").shapes == {}
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < before + 200_000


def test_tensors_without_names_are_refused(tmp_path):
    torch.save({0: torch.ones(3)}, tmp_path / "w.bin")
    with pytest.raises(ValueError, match="tensors must have names"):
        read_pytorch(tmp_path / "w.bin")


def test_without_pytorch_the_command_that_installs_it_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    (tmp_path / "w.bin").touch()
    with pytest.raises(ImportError, match=r"pip install .*albert_keras\[peers\]"):
        read_pytorch(tmp_path / "w.bin")
