"""The benchmarks of training steps, run as a user runs them, on a tiny model."""

import importlib.util
import json
import pathlib
import subprocess
import sys

import pytest

from albert_keras.config import AlbertConfig
from tools.benchmarks.training import summarize
from tools.benchmarks.training_memory import growth

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


def test_ratios_and_shares_are_medians_within_a_round():
    # The machine is twice and four times as slow in the later rounds.
    rounds = [
        {
            "products_tensorflow": [1.0 * slower, 5.0 * slower],
            "products_torch": [2.0 * slower, 3.0 * slower],
            "albert_keras": 8.0 * slower,
            "huggingface": times * slower,
            "lamb_update": 0.16 * slower,
            "host_work_share": share,
        }
        for slower, times, share in [(1, 12, 0.01), (2, 16, 0.03), (4, 40, 0.02)]
    ]
    work = {
        "config": AlbertConfig.from_preset("albert_test").to_dict(),
        "batch_size": 3,
        "sequence_length": 17,
        "num_predictions": 5,
    }
    results = summarize(rounds, work)
    gigaflops = results["gigaflops_of_a_step"]
    assert results["step_seconds"] == {"albert_keras": 16.0, "huggingface": 32}
    assert results["speed_ratio"] == {"albert_keras/huggingface": 2.0}
    assert results["share_of_peak"]["float32"] == {
        "albert_keras": 0.5,
        "huggingface": 0.25,
    }
    assert results["peak_gigaflops_per_second"] == {"float32": gigaflops / 8}
    assert results["lamb_share"] == pytest.approx(0.02)
    assert results["host_work_share"] == 0.02


def test_growth_is_that_of_a_layer():
    depths = {3: {"gibibytes": 2.0}, 5: {"gibibytes": 2.4}, 7: {"gibibytes": 2.5}}
    assert growth(depths) == 128


@pytest.mark.slow
def test_memory_is_that_of_a_process_that_trains():
    results, messages = run(
        "training_memory.py", "--layers 2 --kinds rematerialization"
    )
    # TensorFlow alone takes some hundred MiB, and the tiny model next to nothing.
    assert 0.2 < results["rematerialization"]["depths"]["2"]["gibibytes"] < 4
    assert messages.count("GiB") == 1
