"""Strategies by name."""

import pytest
import tensorflow as tf

from albert_keras.training import get_strategy


def test_default_and_mirrored_see_this_machine():
    assert get_strategy("default") is tf.distribute.get_strategy()
    assert get_strategy("mirrored").num_replicas_in_sync >= 1


def test_tpu_without_a_tpu_says_so():
    with pytest.raises(RuntimeError, match="needs a TPU"):
        get_strategy("tpu")


def test_unknown_name_lists_the_known():
    with pytest.raises(ValueError, match="default, mirrored, tpu.*strategy='horovod'"):
        get_strategy("horovod")
