"""Dry runs measure steps and undo them."""

import pathlib

import numpy as np
import pytest

from albert_keras.training.checkpoints import named_arrays
from albert_keras.training.dry_run import measure_steps, peak_memory
from tests.training import small_run


def test_steps_are_measured_and_undone(tmp_path):
    _, model = small_run.make_trainer(tmp_path)
    before = named_arrays(model)
    steps_read = []
    dataset = small_run.interrupted_by(lambda: steps_read.append(4), at_step=4)(0)
    results = measure_steps(model, dataset, num_calls=7)
    assert steps_read == [4]
    for name, array in named_arrays(model).items():
        assert np.array_equal(array, before[name]), name
    assert results["batch"] == {"token_ids": [small_run.BATCH, small_run.WIDTH]}
    assert results["parameters"] == 61 * 8 + 8 * 2 + 2
    assert results["seconds_per_step"] > 0
    tokens = results["tokens_per_second"] * results["seconds_per_step"]
    assert tokens == pytest.approx(small_run.BATCH * small_run.WIDTH)
    # Weights, two moments and gradients, and some numbers.
    arrays = 4 * 4 * results["parameters"]
    assert arrays < results["variables_memory"] < arrays + 100
    assert results["peak_memory"] > 1e7


def test_steps_that_fail_are_undone(tmp_path):
    _, model = small_run.make_trainer(tmp_path)
    before = named_arrays(model)
    dataset = small_run.interrupted_by(small_run.fail, at_step=4)(0)
    with pytest.raises(Exception, match="power is gone"):
        measure_steps(model, dataset)
    for name, array in named_arrays(model).items():
        assert np.array_equal(array, before[name]), name


def test_memory_is_the_peak_of_this_process():
    status = pathlib.Path("/proc/self/status").read_text().splitlines()
    (peak,) = (int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    assert peak_memory() == pytest.approx(peak * 1024, rel=0.05)
