"""PyTorch's `.bin` files, read in a process with limits."""

import zipfile

import numpy as np
import pytest

from albert_keras.converters import pytorch_file
from albert_keras.converters.pytorch_file import read_pytorch


def write_archive(file, content):
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", content)
        archive.writestr("archive/version", b"3\n")


@pytest.mark.slow
def test_tensors_come_back(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save({"table": torch.arange(15.0).reshape(3, 5)}, tmp_path / "w.bin")
    tensors = read_pytorch(tmp_path / "w.bin")
    assert tensors.shapes == {"table": (3, 5)}
    assert (tensors.read("table") == np.arange(15.0).reshape(3, 5)).all()


@pytest.mark.slow
def test_a_file_that_ends_pytorch_gives_one_line(tmp_path):
    pytest.importorskip("torch")
    # The hash of a tuple, 200,000 levels deep.
    write_archive(tmp_path / "w.bin", b"\x80\x02})" + b"\x85" * 200_000 + b"K\x01s.")
    with pytest.raises(ValueError, match="w.bin', which ended it by SIG") as caught:
        read_pytorch(tmp_path / "w.bin")
    assert "\n" not in str(caught.value)


def test_a_file_that_takes_too_long_gives_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(pytorch_file, "_SECONDS", 0)
    (tmp_path / "w.bin").touch()
    with pytest.raises(ValueError, match="w.bin', which takes more than 0 seconds"):
        read_pytorch(tmp_path / "w.bin")


def test_without_pytorch_the_command_that_installs_it_is_named(tmp_path, monkeypatch):
    (tmp_path / "torch.py").write_text("raise ImportError('not here')")
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "w.bin").touch()
    with pytest.raises(ImportError, match=r"pip install .*albert_keras\[peers\]"):
        read_pytorch(tmp_path / "w.bin")
