"""Files of predictions in each format."""

import csv
import json

import numpy as np
import pytest

from albert_keras.runs.predictions import check_output, write_predictions
from albert_keras.tasks import TASKS, PreparedRows, TextClassificationTask
from albert_keras.tasks.masked_words import MaskedWordsTask
from albert_keras.tasks.text_classification import LabelledTexts
from albert_keras.text.tables import read_table

TEXTS = ['she said "no", twice', "of two\nlines\tand a tab", "你好"]
PREPARED = PreparedRows(LabelledTexts(TEXTS, None), None)
LOGITS = np.log(np.array([[1, 3], [4, 1], [1, 1]], np.float32))
TASK = TextClassificationTask(labels=("bad", "good"))


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl"])
def test_tables_have_texts_labels_and_probabilities(tmp_path, suffix):
    path = tmp_path / f"predictions{suffix}"
    write_predictions(path, TASK, PREPARED, LOGITS)
    if suffix == ".jsonl":
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        assert rows == TASK.describe(PREPARED, LOGITS)
        return
    rows = [row for _, row in read_table(path)]
    columns = ["text", "label", "probabilities.bad", "probabilities.good"]
    assert [*rows[0]] == columns
    expected = TEXTS if suffix == ".csv" else [" ".join(t.split()) for t in TEXTS]
    assert [row["text"] for row in rows] == expected
    assert [row["label"] for row in rows] == ["good", "bad", "bad"]
    shares = [float(row["probabilities.good"]) for row in rows]
    assert shares == pytest.approx([0.75, 0.2, 0.5])


def test_formats_of_a_server_and_of_nobody(tmp_path):
    task = TextClassificationTask(labels=("0", "1"))
    write_predictions(tmp_path / "SST-2.tsv", task, PREPARED, LOGITS)
    written = (tmp_path / "SST-2.tsv").read_text()
    assert written == "index\tprediction\n0\t1\n1\t0\n2\t0\n"
    for own_format in (TASKS["squad"], TASKS["race"], TASK, MaskedWordsTask(None)):
        with pytest.raises(
            ValueError, match="a.xlsx'. Give a name that ends in .jsonl"
        ):
            check_output(tmp_path / "a.xlsx", own_format)
        check_output("a.csv", own_format)
    check_output("predictions", TASKS["squad"])


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl"])
def test_no_rows_and_a_lone_carriage_return(tmp_path, suffix):
    task, path = MaskedWordsTask(None), tmp_path / f"a{suffix}"
    write_predictions(path, task, PreparedRows([], None), [])
    assert path.read_bytes() == b""
    write_predictions(path, task, PreparedRows(["one\rtwo"], None), [[]])
    if suffix == ".csv":
        with path.open(newline="", encoding="utf-8") as file:
            assert [*csv.reader(file)][1] == ["one\rtwo", ""]
    else:
        assert b"\r" not in path.read_bytes()
