"""Tensors in files: names, sizes and errors of damaged files."""

import ml_dtypes
import numpy as np
import pytest

from albert_keras.converters.stored_tensors import (
    as_weight,
    check_size,
    check_total_size,
    readable,
)
from tests.helpers import stored_arrays

ARRAYS = {"kernel": np.arange(6.0).reshape(2, 3), "bias": np.ones(3)}


def test_renamed_tensors_keep_their_values():
    tensors = stored_arrays(ARRAYS).renamed({"kernel": "weight"})
    assert tensors.shapes == {"weight": (2, 3)}
    assert "bias" not in tensors
    assert (tensors.read("weight") == ARRAYS["kernel"]).all()


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


@pytest.mark.parametrize("error", [KeyError("lost"), MemoryError()])
def test_errors_of_a_reader_name_the_file(error):
    with pytest.raises(ValueError, match="cannot be read.*Received: 'w.bin': .+"):
        with readable("w.bin", KeyError):
            raise error


def test_other_errors_pass():
    with pytest.raises(ZeroDivisionError):
        with readable("w.bin", KeyError):
            raise ZeroDivisionError


@pytest.mark.parametrize("shape", [(4, 7), (-1,), (2**40, 2**40)])
def test_tensor_must_fit_its_file(shape):
    check_size("kernel", (3, 8), 4, 96, "w.bin")
    with pytest.raises(ValueError, match="'w.bin': kernel of shape"):
        check_size("kernel", shape, 4, 96, "w.bin")


def test_weights_are_cast():
    values = np.array([1.0, -2.5], ml_dtypes.bfloat16)
    weight = as_weight("bias", values, "float32")
    assert (weight.dtype, weight.tolist()) == (np.float32, [1.0, -2.5])


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


def test_tensors_must_fit_their_file_together():
    check_total_size(96, 96, "w.bin")
    with pytest.raises(ValueError, match="'w.bin': 97 bytes in 96 bytes"):
        check_total_size(97, 96, "w.bin")
