"""Files of answers for the official scripts."""

import json

import pytest

from albert_keras.tasks.question_answering.answer_files import write_answers
from albert_keras.tasks.question_answering.decoding import Answer, Candidate

CANDIDATES = (Candidate("北京", 3, 1.5, 0.75), Candidate("“京”", 4, 0.5, 0.25))
ANSWERS = [Answer("q1", "北京", -1.25, CANDIDATES), Answer("q2", "", 2.5, ())]


def read(folder):
    return {path.name: json.loads(path.read_text("utf-8")) for path in folder.iterdir()}


def test_three_files(tmp_path):
    write_answers(tmp_path / "new", ANSWERS)
    assert read(tmp_path / "new") == {
        "predictions.json": {"q1": "北京", "q2": ""},
        "null_odds.json": {"q1": -1.25, "q2": 2.5},
        "nbest_predictions.json": {
            "q1": [
                {"text": "北京", "probability": 0.75, "score": 1.5},
                {"text": "“京”", "probability": 0.25, "score": 0.5},
            ],
            "q2": [],
        },
    }


def test_threshold_only_changes_predictions(tmp_path):
    write_answers(tmp_path, ANSWERS)
    before = read(tmp_path)
    write_answers(tmp_path, ANSWERS, threshold=-2.0)
    expected = {**before, "predictions.json": {"q1": "", "q2": ""}}
    assert read(tmp_path) == expected


def test_no_answers(tmp_path):
    with pytest.raises(ValueError, match="Received: folder='.*x', no answers"):
        write_answers(tmp_path / "x", [])
    assert not (tmp_path / "x").exists()
