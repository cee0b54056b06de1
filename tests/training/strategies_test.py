"""Strategies, on this machine and on several."""

import json
import os

import numpy as np
import pytest
import tensorflow as tf

from albert_keras.training import STRATEGIES, get_strategy, strategies
from tests.clusters import worker_environments
from tests.forked_processes import forked_processes
from tests.helpers import max_difference
from tests.pretraining.record_folders import make_arrays, write_folder
from tests.training import worker_job


def test_default_and_mirrored_use_this_machine():
    default = get_strategy("default")
    with default.scope():
        assert not tf.distribute.has_strategy()
    with pytest.warns(UserWarning, match="one CPU, no GPU"):
        mirrored = get_strategy("mirrored")
    with mirrored.scope():
        assert tf.distribute.get_strategy() is mirrored.distribution
    assert mirrored.num_replicas == len(tf.config.list_logical_devices("CPU"))
    for strategy in (default, mirrored):
        assert (strategy.is_chief, strategy.num_workers) == (True, 1)
        assert strategy.shard is None
        assert strategy.gather(7) == [7]
        strategy.check_same_step(41)


def test_place_of_a_second_worker():
    strategy = strategies.Strategy("data_parallel", None, 6, worker=1, num_workers=3)
    assert not strategy.is_chief
    assert strategy.shard == (1, 3)
    strategy.check_batch_size(12)
    with pytest.raises(ValueError, match="batch_size=9, 6 devices"):
        strategy.check_batch_size(9)


def test_tpu_needs_a_tpu():
    with pytest.raises(RuntimeError, match="needs a TPU"):
        get_strategy("tpu")


def test_error_of_an_unknown_name_lists_all_names():
    names = ", ".join(STRATEGIES)
    with pytest.raises(ValueError, match=f"{names}. Received: strategy='horovod'"):
        get_strategy("horovod")


def test_data_parallel_needs_jax():
    with pytest.raises(RuntimeError, match="needs Keras on jax.*BACKEND=tensorflow"):
        get_strategy("data_parallel")


# === Two processes on loopback train like one, with JAX ===


NUM_EXAMPLES, VOCABULARY_SIZE = 67, 61
TWO_DEVICES_OF_JAX = {
    "KERAS_BACKEND": "jax",
    "XLA_FLAGS": f"{os.environ['XLA_FLAGS']} --xla_force_host_platform_device_count=2",
}


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """Examples of uneven numbers of masked pieces, not a multiple of the batch."""
    folder = tmp_path_factory.mktemp("records") / "data"
    arrays = make_arrays(NUM_EXAMPLES)
    for name in ("token_ids", "mask_ids"):
        arrays[name] %= VOCABULARY_SIZE
    few = np.arange(NUM_EXAMPLES) % 3 > 0
    arrays["mask_weights"][few, 1:] = 0.0
    arrays["padding_mask"][:, 0] = 1
    write_folder(folder, arrays, [0, 30, NUM_EXAMPLES])
    return folder


@pytest.fixture
def run_workers(records, tmp_path):
    """Trains with a worker for each environment, under one strategy after the other.

    Returns weights and results of each worker under each strategy.
    """

    def run(strategies, environments):
        words = (",".join(strategies), records, tmp_path)
        with forked_processes() as start:
            workers = [
                start(worker_job.main, *words, **environment)
                for environment in environments
            ]
            for worker in workers:
                _, err = worker.communicate(timeout=900)
                assert worker.returncode == 0, err
        return [
            read_result(tmp_path / strategy, worker)
            for strategy in strategies
            for worker in range(len(environments))
        ]

    return run


def read_result(folder, worker):
    with np.load(folder / f"{worker}.npz") as file:
        weights = [file[name] for name in file.files]
    return weights, json.loads((folder / f"{worker}.json").read_text())


def check_same(found, expected, within):
    """Checks weights, and what was measured, which Keras keeps in float32."""
    assert max_difference(found[0], expected[0]) < within
    assert found[1].keys() == expected[1].keys()
    for name, value in expected[1].items():
        if name == "steps":
            continue
        assert abs(found[1][name] - value) < 3e-6, name


@pytest.mark.slow
def test_jax_processes_and_devices_take_the_step_of_one(run_workers):
    strategies = ["default", "data_parallel"]
    expected, two_devices = run_workers(strategies, [TWO_DEVICES_OF_JAX])
    environments = worker_environments(2)
    both = run_workers(["data_parallel"], environments)
    for found in [two_devices, *both]:
        check_same(found, expected, 1e-6)
    for found in both:
        assert "Received: steps 5, 6." in found[1]["steps"]


@pytest.mark.slow
def test_a_lost_worker_ends_the_others():
    with forked_processes() as start:
        environments = worker_environments(2)
        waiting, lost = [start(worker_job.lose_the_second, **e) for e in environments]
        lost.wait(timeout=300)
        waiting.wait(timeout=60)
    assert waiting.returncode != 0
