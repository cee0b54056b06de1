"""Files of safetensors: intact, damaged, and with headers that claim too much."""

import json

import numpy as np
import pytest
import safetensors.numpy

from albert_keras.converters.weight_files import read_safetensors

ARRAYS = {"kernel": np.arange(15.0).reshape(3, 5), "bias": np.ones(7, "float16")}


@pytest.fixture
def file(tmp_path):
    (tmp_path / "whole").mkdir()
    safetensors.numpy.save_file(ARRAYS, tmp_path / "whole" / "w.safetensors")
    return tmp_path / "whole" / "w.safetensors"


def read_all(folder):
    tensors = read_safetensors(folder / "w.safetensors")
    return {name: tensors.read(name) for name in tensors.shapes}


def test_tensors_are_read_by_name(file):
    found = read_all(file.parent)
    assert found.keys() == ARRAYS.keys()
    assert all((found[name] == ARRAYS[name]).all() for name in ARRAYS)


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
        {"a": entry(0, 24, [24], "F8_E5M2")},
        {"a": entry(0, 24, [6], "X" * 10_000)},
        {"a": {"dtype": {}}},
    ],
    ids=str,
)
def test_false_headers_give_one_line(entries, tmp_path):
    header = json.dumps(entries).encode()
    content = len(header).to_bytes(8, "little") + header + bytes(24)
    (tmp_path / "w.safetensors").write_bytes(content)
    with pytest.raises(ValueError, match="cannot be read") as caught:
        read_all(tmp_path)
    assert len(str(caught.value)) < 500 + len(str(tmp_path))
    assert "\n" not in str(caught.value)


def test_length_of_the_header_takes_no_memory(tmp_path):
    (tmp_path / "w.safetensors").write_bytes((2**60).to_bytes(8, "little") + b"{}")
    with pytest.raises(ValueError, match="cannot be read"):
        read_all(tmp_path)
