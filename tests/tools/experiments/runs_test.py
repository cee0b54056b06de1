"""Runs of experiments."""

import math
import subprocess

import pytest

from albert_keras.pretraining import PretrainingDataConfig
from albert_keras.system.files import read_json
from albert_keras.version import __version__
from tests.runs.conftest import LENGTH, base, base_config, vocabulary
from tools.experiments.runs import measure_pretrained, run_on_one_core

__all__ = ["base", "base_config", "vocabulary"]


def test_commands_run_apart():
    printed = run_on_one_core(["--version"], subprocess.PIPE)
    assert __version__ in printed.stdout.decode()
    with pytest.raises(subprocess.CalledProcessError):
        run_on_one_core(["unknown"], stderr=subprocess.DEVNULL)


@pytest.mark.slow
def test_rows_of_pairs_and_of_single_texts(base):
    held_out = base / "tokens" / "held_out"
    pairs = measure_pretrained(base, held_out)
    reported = read_json(base / "report.json")["scores"]
    # The run's own task is the order.
    for name in ("mlm_loss", "sop_accuracy", "num_examples"):
        assert pairs[name] == pytest.approx(reported[name], abs=1e-5)
    config = PretrainingDataConfig(sequence_length=LENGTH, sentence_pairs="none")
    single = measure_pretrained(base, held_out, pairs=False, config=config)
    assert "sop_accuracy" not in single
    assert single["num_examples"] != pairs["num_examples"]
    # Of a model that has hardly begun.
    assert single["mlm_loss"] == pytest.approx(math.log(500), rel=0.1)
