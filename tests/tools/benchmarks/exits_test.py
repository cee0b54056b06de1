"""The benchmark of exits, on a tiny model and in this process."""

import argparse

import keras
import numpy as np
import pytest

from albert_keras.compression import ExitRule, simulate_exits
from albert_keras.sample import REVIEWS_TEST
from albert_keras.tasks import TextClassificationTask
from tools.benchmarks import exits
from tools.benchmarks.exits import CONFIDENCE, SHARE, measure, parse, with_random_exits
from tools.benchmarks.inference import load_model

WORDS = "--preset albert_test --rows 5 --batch-sizes 1 3 --rounds 2"


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(7)
    return with_random_exits(load_model(parse(WORDS.split())))


def test_a_share_of_the_rows_would_leave_random_exits_at_each_depth(model):
    texts = TextClassificationTask().read(REVIEWS_TEST).texts[:64]
    logits = np.asarray(model.exit_logits(model.preprocessor(texts)))
    num_layers = model.backbone.num_layers
    assert logits.shape == (64, num_layers, 2)
    np.testing.assert_allclose(logits.mean(axis=0), 0, atol=1e-3)
    for depth in range(num_layers):
        rule = ExitRule("confidence", threshold=CONFIDENCE)
        # Of one depth alone, before the last, at which every row leaves.
        depths = simulate_exits(rule, np.repeat(logits[:, [depth]], 2, axis=1))
        assert (depths == 1).mean() == pytest.approx(SHARE, abs=0.02)


@pytest.mark.slow
def test_layers_and_time_are_compared_by_case(model, monkeypatch):
    monkeypatch.setattr(exits, "with_random_exits", lambda _: model)
    results = measure(parse([*WORDS.split(), "--min-depths", "1", "2"]))
    assert [*results] == ["1 x texts", "3 x texts", "1 x 19", "3 x 19"]
    layers = []
    for found in results.values():
        early, late = found["by_rule"]
        assert (early["min_depth"], late["min_depth"]) == (1, 2)
        assert 1 < early["layer_ratio"] <= model.backbone.num_layers
        # The second of two layers.
        assert late["layer_ratio"] == 1
        assert min(found["full_depth"], *early.values(), *late.values()) > 0
        layers.append(early["layer_ratio"])
    # Batches change the times alone.
    assert layers[::2] == pytest.approx(layers[1::2])


def test_without_min_depths_rows_leave_by_the_rule_of_the_model(model, monkeypatch):
    monkeypatch.setattr(exits, "with_random_exits", lambda _: model)
    results = measure(parse([*WORDS.split(), "--format", "tflite", "--wall-clock"]))
    assert [*results] == ["1 x texts", "3 x texts", "1 x 19", "3 x 19"]
    for found in results.values():
        (rule,) = found["by_rule"]
        assert rule["min_depth"] == 1


def test_a_run_must_have_a_rule(model, monkeypatch):
    without = argparse.Namespace(exit_rule=None)
    monkeypatch.setattr(exits, "load_model", lambda _: without)
    with pytest.raises(SystemExit, match="calibrated rule"):
        measure(parse(["a run", *WORDS.split()]))
