"""Strategies by name: their requirements, and the place of this process."""

import pytest
import tensorflow as tf

from albert_keras.training import STRATEGIES, get_strategy, strategies


def test_default_and_mirrored_use_this_machine():
    default = get_strategy("default")
    with default.scope():
        assert not tf.distribute.has_strategy()
    with pytest.warns(UserWarning, match="TensorFlow sees none: the processor trains"):
        mirrored = get_strategy("mirrored")
    with mirrored.scope():
        assert tf.distribute.get_strategy() is mirrored.distribution
    assert mirrored.num_replicas == len(tf.config.list_logical_devices("CPU"))
    for strategy in (default, mirrored):
        assert (strategy.is_chief, strategy.num_workers) == (True, 1)
        assert strategy.shard is None
        strategy.wait_for_workers()
        strategy.check_same_step(41)


def test_place_of_a_second_worker():
    strategy = strategies.Strategy("data_parallel", None, 6, worker=1, num_workers=3)
    assert not strategy.is_chief
    assert strategy.shard == (1, 3)
    strategy.check_batch_size(12)
    with pytest.raises(ValueError, match="batch_size=9, 6 devices of 3 workers"):
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


def test_several_processes_need_all_three_variables(monkeypatch):
    for name in ("JOB_ADDRESSES", "NUM_PROCESSES", "PROCESS_ID"):
        monkeypatch.delenv(f"KERAS_DISTRIBUTION_{name}", raising=False)
    assert strategies.join_processes() == 1
    monkeypatch.setenv("KERAS_DISTRIBUTION_JOB_ADDRESSES", "10.0.0.1:2222")
    monkeypatch.setenv("KERAS_DISTRIBUTION_NUM_PROCESSES", "two")
    with pytest.raises(ValueError, match="all three.*'two'.*PROCESS_ID': None"):
        strategies.join_processes()
    monkeypatch.setenv("KERAS_DISTRIBUTION_PROCESS_ID", "1")
    with pytest.raises(ValueError, match="others numbers. Received: .*'two'"):
        strategies.join_processes()
