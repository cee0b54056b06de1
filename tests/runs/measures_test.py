"""Pretrained runs of any sentence task, measured or continued."""

import math

import numpy as np
import pytest

from albert_keras.converters import load_checkpoint
from albert_keras.files import read_json
from albert_keras.pretraining import PretrainingDataConfig
from albert_keras.runs.measures import measure_pretrained, save_without_pairs
from tests.runs.conftest import LENGTH


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


@pytest.mark.slow
def test_a_start_has_no_head_of_pairs(base, tmp_path):
    save_without_pairs(base, tmp_path / "start")
    start, trained = load_checkpoint(tmp_path / "start"), load_checkpoint(base)
    assert (start.num_pair_classes, trained.num_pair_classes) == (0, 2)
    for own, other in zip(
        [*start.backbone.get_weights(), *start.mlm_head.get_weights()],
        [*trained.backbone.get_weights(), *trained.mlm_head.get_weights()],
        strict=True,
    ):
        np.testing.assert_array_equal(own, other)
