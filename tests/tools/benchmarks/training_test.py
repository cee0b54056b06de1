"""The benchmarks of training steps, run as a user runs them, on a tiny model."""

import importlib.util
import json
import pathlib
import subprocess
import sys

import pytest

TOOLS = pathlib.Path(__file__).resolve().parents[3] / "tools/benchmarks"
TINY = "--preset albert_test --batch-size 3 --sequence-length 17 --num-predictions 5"


def run(tool, words):
    command = [sys.executable, TOOLS / tool, *TINY.split(), *words.split(), "--json"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(result.stdout), result.stderr


@pytest.mark.slow
def test_measures_what_can_run_here():
    names = "products_tensorflow albert_keras albert_keras_memory_returned huggingface"
    words = f"--num-layers 2 --rounds 1 --only {names}"
    results, messages = run("training.py", words)
    seconds = results["step_seconds"]
    has_torch = all(map(importlib.util.find_spec, ("torch", "transformers")))
    expected = {"albert_keras", "albert_keras_memory_returned"}
    expected |= {"huggingface"} if has_torch else set()
    assert set(seconds) == expected
    assert ("-m pip install torch transformers" in messages) != has_torch
    # Of a model this small the calls take longer than the work: no bound above.
    assert set(results["share_of_peak"]["float32"]) == expected
    assert "round 1 of 1" in messages
