"""Files of predictions in each format."""

import json

import numpy as np
import pytest

from albert_keras.runs.predictions import write_predictions
from albert_keras.tasks import PreparedRows, TextClassificationTask
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
    with pytest.raises(ValueError, match=r"a .csv, .tsv or .jsonl, or named like GLUE"):
        write_predictions(tmp_path / "a.xlsx", task, PREPARED, LOGITS)
