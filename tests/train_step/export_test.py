"""Lowering of a whole training step for TPU and GPU, with static shapes.

The step has not run on a TPU.
"""

import json

import pytest

from tests.forked_processes import forked_processes
from tests.train_step import lower_step


@pytest.fixture(scope="module")
def lowered():
    """Report of `lower_step.py` about the program."""
    with forked_processes() as start:
        process = start(lower_step.main, KERAS_BACKEND="jax")
        out, err = process.communicate(timeout=900)
    assert process.returncode == 0, err
    return json.loads(out)


@pytest.mark.slow
def test_the_whole_step_is_lowered(lowered):
    assert lowered["platforms"] == ["tpu", "cuda", "cpu"]
    assert lowered["num_outputs"] == lowered["num_state"] > 100
    # On a CPU the lowered program gives the results of the step.
    assert lowered["moved"] > 1e-3
    assert lowered["difference"] < 1e-5


@pytest.mark.slow
def test_no_shape_is_dynamic(lowered):
    assert lowered["static"]
    assert lowered["dynamic_types"] == 0


@pytest.mark.slow
def test_products_are_in_bfloat16_and_layers_are_recomputed(lowered):
    assert lowered["num_bfloat16_products"] == lowered["num_products"] > 0
    assert lowered["num_barriers"] > 0
