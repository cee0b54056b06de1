"""The benchmark of exits, on a tiny model and in this process."""

import keras
import pytest

from tools.benchmarks import exits
from tools.benchmarks.exits import measure, parse, with_random_exits
from tools.benchmarks.inference import load_model

WORDS = "--preset albert_test --rows 5 --batch-sizes 1 3 --rounds 2"


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(7)
    return with_random_exits(load_model(parse(WORDS.split())))


@pytest.mark.slow
def test_without_min_depths_rows_leave_by_the_rule_of_the_model(model, monkeypatch):
    monkeypatch.setattr(exits, "with_random_exits", lambda _: model)
    results = measure(parse([*WORDS.split(), "--format", "tflite", "--wall-clock"]))
    assert [*results] == ["1 x texts", "3 x texts", "1 x 19", "3 x 19"]
    for found in results.values():
        (rule,) = found["by_rule"]
        assert rule["min_depth"] == 1
