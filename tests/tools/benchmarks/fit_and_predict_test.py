"""The benchmark of Python beside the commands, with few rows."""

import json

import pytest

from albert_keras.sample import REVIEWS_TRAIN
from tools.benchmarks.fit_and_predict import main


@pytest.mark.slow
def test_both_routes_are_measured_in_turn(tmp_path, capsys):
    lines = REVIEWS_TRAIN.read_text("utf-8").splitlines(keepends=True)
    train = tmp_path / "train.tsv"
    train.write_text("".join(lines[:8]), "utf-8")
    words = f"--train {train} --sequence-length 24 --batch-size 3 --epochs 2 --rounds 1"
    main(words.split())
    results = json.loads(capsys.readouterr().out)
    routes = [{"fit", "finetune"}, {"predict", "load_run"}, {"predict", "load_run"}]
    assert [numbers.keys() for numbers in results.values()] == routes
    assert all(min(numbers.values()) > 0 for numbers in results.values())
