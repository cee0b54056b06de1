"""What `import albert_keras` gives, and what it costs."""

import resource
import statistics
import subprocess
import sys

import pytest

import albert_keras


@pytest.mark.parametrize("name", albert_keras.__all__)
def test_every_public_name_is_there(name):
    assert getattr(albert_keras, name) is not None


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'albert_keras' has no attribute 'Bert'"):
        albert_keras.Bert  # noqa: B018


STATE = """
import logging, os, random, warnings
import keras, keras_hub, numpy, tensorflow as tf
def state():
    return (
        keras.config.dtype_policy().name,
        dict(os.environ),
        random.getstate(),
        numpy.random.get_state()[1].tolist(),
        list(logging.root.handlers),
        logging.root.level,
        list(warnings.filters),
        tf.config.get_soft_device_placement(),
        tf.config.optimizer.get_jit(),
        tf.executing_eagerly(),
    )
before = state()
import albert_keras
assert all(getattr(albert_keras, name) is not None for name in albert_keras.__all__)
assert state() == before
"""

LIGHT = """
import sys
known = set(sys.modules)
import albert_keras, albert_keras.pretraining, albert_keras.tokenizers
assert "AlbertBackbone" in dir(albert_keras)
imported = {name.partition(".")[0] for name in set(sys.modules) - known}
heavy = imported - set(sys.stdlib_module_names)
assert heavy == {"albert_keras"}, heavy
"""


def test_import_changes_no_state():
    subprocess.run([sys.executable, "-c", STATE], check=True, capture_output=True)


def test_import_needs_the_standard_library_alone():
    done = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def import_seconds(module):
    """Returns the processor's seconds, which other processes hardly change."""
    began = seconds_of_children()
    subprocess.run(
        [sys.executable, "-c", f"import {module}"], check=True, capture_output=True
    )
    return seconds_of_children() - began


def seconds_of_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@pytest.mark.slow
def test_models_take_little_more_than_keras_hub():
    # In turn, and by the median of ratios: the machine's speed drifts.
    import_seconds("albert_keras.models")
    ratios = [
        import_seconds("albert_keras.models") / import_seconds("keras_hub")
        for _ in range(3)
    ]
    assert statistics.median(ratios) <= 1.3, ratios
