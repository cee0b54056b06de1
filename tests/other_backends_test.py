"""Tests of single modules on the JAX and PyTorch backends, in one process for each."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[1]
# The files, and the tests in them whose names contain one of the words.
ON_BACKENDS = {
    "jax": {
        "tests/compression/exit_inference_test.py": ["on_other_backends"],
        "tests/keras_internals_test.py": ["weights_of_the_last_step", "stateless_loss"],
        "tests/layers/attention_test.py": ["all_attention_functions", "come_only"],
        "tests/layers/block_attention_test.py": ["blocks_equal"],
        "tests/models/backbone_test.py": ["on_jax"],
        "tests/models/packed_rows_test.py": ["step_of_lamb"],
        "tests/models/raw_text_test.py": ["shuffled_whole"],
    },
    "torch": {
        "tests/integration/keras_habits_test.py": ["learns_from_text"],
        "tests/layers/attention_test.py": ["all_attention_functions", "come_only"],
        "tests/layers/block_attention_test.py": ["blocks_equal"],
    },
}
NUM_TESTS = {"jax": 13, "torch": 13}


@pytest.mark.slow
@pytest.mark.parametrize("backend", ON_BACKENDS)
def test_modules_pass_on_other_backends(backend):
    if importlib.util.find_spec(backend) is None:
        pytest.skip(f"needs {backend}")
    environment = {**os.environ, "KERAS_BACKEND": backend}
    files = ON_BACKENDS[backend]
    words = " or ".join(word for words in files.values() for word in words)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-k", words]
    done = subprocess.run(
        [*command, *files], env=environment, cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
    assert f"{NUM_TESTS[backend]} passed" in done.stdout
