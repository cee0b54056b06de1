"""What `import albert_keras` provides, and that it sets TensorFlow's variables alone."""

import importlib
import pathlib
import subprocess
import sys

import pytest

import albert_keras

ROOT = pathlib.Path(albert_keras.__file__).parent


@pytest.mark.parametrize(
    "stub", sorted(ROOT.rglob("*.pyi")), ids=lambda stub: stub.parent.name
)
def test_every_public_name_exists(stub):
    package = ".".join(stub.relative_to(ROOT.parent).parent.parts)
    package = importlib.import_module(package)
    assert package.__all__
    for name in package.__all__:
        assert getattr(package, name) is not None


def test_few_names_stand_at_the_top_and_others_one_level_down():
    assert len(albert_keras.__all__) == 45
    assert callable(albert_keras.runs.predict_with_run)
    assert callable(albert_keras.tasks.fill_mask)
    assert not hasattr(albert_keras, "fill_mask")


SIDE_EFFECTS = """
import logging, os, random, sys, warnings

def python_state():
    return (
        list(sys.meta_path),
        list(sys.path_hooks),
        list(sys.path),
        dict(os.environ),
        random.getstate(),
        list(logging.root.handlers),
        logging.root.level,
        list(warnings.filters),
    )

for name in [name for name in os.environ if name.startswith("TF_")]:
    del os.environ[name]
known = set(sys.modules)
before = python_state()
import albert_keras, albert_keras.pretraining, albert_keras.text, albert_keras.tokenizers
assert "AlbertBackbone" in dir(albert_keras)
imported = {name.partition(".")[0] for name in set(sys.modules) - known}
others = imported - set(sys.stdlib_module_names)
assert others == {"albert_keras", "lazy_loader"}, others
before[3].update(albert_keras.system.processor.ENVIRONMENT)
assert python_state() == before

import keras, keras_hub, numpy, tensorflow as tf

def state():
    return (
        *python_state(),
        keras.config.dtype_policy().name,
        numpy.random.get_state()[1].tolist(),
        tf.config.get_soft_device_placement(),
        tf.config.optimizer.get_jit(),
        tf.executing_eagerly(),
    )

before = state()
for name in albert_keras.__all__:
    getattr(albert_keras, name)
assert state() == before
"""


@pytest.mark.slow
def test_import_sets_variables_alone_and_needs_no_other_package():
    command = [sys.executable, "-c", SIDE_EFFECTS]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
