"""PyTorch's `.bin` files: intact, damaged, and with code in them."""

import collections
import os
import sys

import pytest

from albert_keras.converters.weight_files import read_pytorch

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


def test_views_larger_than_the_file_are_refused(tmp_path):
    torch.save({"weight": torch.zeros(1).expand(2**40)}, tmp_path / "w.bin")
    with pytest.raises(ValueError, match="must not be larger.*: 4398046511104 bytes"):
        read_pytorch(tmp_path / "w.bin")


def test_tensors_without_names_are_refused(tmp_path):
    torch.save({0: torch.ones(3)}, tmp_path / "w.bin")
    with pytest.raises(ValueError, match="tensors must have names"):
        read_pytorch(tmp_path / "w.bin")


def test_without_pytorch_the_command_that_installs_it_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    (tmp_path / "w.bin").touch()
    with pytest.raises(ImportError, match=r"pip install .*albert_keras\[peers\]"):
        read_pytorch(tmp_path / "w.bin")
