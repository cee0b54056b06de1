"""Files of predictions, byte by byte."""

import json

import numpy as np
import pytest

from albert_keras.tasks.submissions import (
    GLUE_ANSWERS,
    write_choices,
    write_glue_predictions,
    write_tagged,
)
from albert_keras.tasks.tagging.reading import read_tagged


def test_files_of_a_glue_submission(tmp_path):
    for task_name, answers in GLUE_ANSWERS.items():
        predictions = answers or np.float32([-0.2, 3.14159, 5.5])
        path = write_glue_predictions(tmp_path, task_name, predictions)
        assert path == tmp_path / f"{task_name}.tsv"
    assert len(list(tmp_path.iterdir())) == 11
    contents = {path.stem: path.read_bytes() for path in tmp_path.iterdir()}
    three = b"index\tprediction\n0\tentailment\n1\tneutral\n2\tcontradiction\n"
    assert contents["MNLI-mm"] == contents["MNLI-m"] == contents["AX"] == three
    assert contents["QNLI"] == b"index\tprediction\n0\tentailment\n1\tnot_entailment\n"
    assert contents["CoLA"] == b"index\tprediction\n0\t0\n1\t1\n"
    assert contents["STS-B"] == b"index\tprediction\n0\t0.000\n1\t3.142\n2\t5.000\n"


@pytest.mark.parametrize(
    ("task_name", "predictions", "message"),
    [
        ("MNLI", ["neutral"], "one of CoLA, .* Received: task_name='MNLI'"),
        ("RTE", [], "Received: task_name='RTE', without predictions"),
        ("RTE", ["entailment", "1"], "RTE must be one of .* Received: '1' for row 1"),
        ("STS-B", np.array([2.5, np.nan]), "NaN in 1 of 2 rows, first 1"),
    ],
)
def test_what_the_server_would_refuse(tmp_path, task_name, predictions, message):
    with pytest.raises(ValueError, match=message):
        write_glue_predictions(tmp_path, task_name, predictions)
    assert list(tmp_path.iterdir()) == []


def test_choices_are_letters(tmp_path):
    write_choices(tmp_path / "answers.json", np.array([3, 0, 1]))
    content = json.loads((tmp_path / "answers.json").read_text())
    assert content == {"answers": ["D", "A", "B"]}


def test_tagged_words_are_read_again(tmp_path):
    words = [["New York", "\x01", "你"], ["far"]]
    predictions = [["B-LOC", "O", "O"], ["I-LOC"]]
    tags = [["B-LOC", "O", "B-PER"], ["O"]]
    path = tmp_path / "predicted.tsv"
    write_tagged(path, words, predictions)
    assert path.read_text("utf-8") == (
        "New York\tB-LOC\n\x01\tO\n你\tO\n\nfar\tI-LOC\n\n"
    )
    write_tagged(path, words, predictions, tags)
    assert read_tagged(path) == (words, predictions)
    assert read_tagged(path, tag_column=1) == (words, tags)
    with pytest.raises(ValueError, match=r"hold a tab .* Received: 'a\\tb'"):
        write_tagged(path, [["a\tb"]], [["O"]])
    with pytest.raises(ValueError, match="zip"):
        write_tagged(path, words, predictions, tags[:1])
    assert read_tagged(path) == (words, predictions)
