"""Files of predictions in each format."""

import dataclasses
import json

import numpy as np
import pytest

from albert_keras.runs.predictions import check_output, write_predictions, write_table
from albert_keras.tasks import (
    TASKS,
    Columns,
    PreparedRows,
    TaggingTask,
    TextClassificationTask,
)
from albert_keras.tasks.masked_words import MaskedWordsTask
from albert_keras.tasks.tagging import PredictedTags
from albert_keras.tasks.text_classification.reading import LabelledTexts
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


ANSWERS = ["prediction", "probability", "probabilities.bad", "probabilities.good"]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl"])
def test_columns_of_a_table_are_kept(tmp_path, suffix):
    source, path = tmp_path / f"rows{suffix}", tmp_path / "predicted.csv"
    columns = {"Ticket": ["7", "7", "9"], "TEXT": ["a", "b", "c"], "label": [*"xyz"]}
    columns["probability"] = ["", "likely", ""]
    given = [
        dict(zip(columns, row, strict=True))
        for row in zip(*columns.values(), strict=True)
    ]
    write_table(source, given)
    task = dataclasses.replace(TASK, columns=Columns(text="text"))
    rows = task.read(source, needs_labels=False)
    write_predictions(path, task, PreparedRows(rows, None), LOGITS, source=source)
    received = [row for _, row in read_table(path)]
    added = [name.replace("probability", "predicted_probability") for name in ANSWERS]
    assert [*received[0]] == [*columns, *added]
    assert [{n: row[n] for n in columns} for row in received] == given
    assert [row["prediction"] for row in received] == ["good", "bad", "bad"]
    probabilities = [float(row["predicted_probability"]) for row in received]
    assert probabilities == pytest.approx([0.75, 0.8, 0.5])
    if suffix != ".jsonl":
        source.write_text(source.read_text().replace("likely", "a\tb\tc,d,e\tf"))
        broken = task.with_columns(skips_broken=True)
        rows = broken.read(source, needs_labels=False)
        write_predictions(path, broken, PreparedRows(rows, None), LOGITS, source=source)
        assert len(list(read_table(path))) == 3
    write_predictions(path, task, PreparedRows(rows, None), LOGITS, source="a.xlsx")
    assert [*next(read_table(path))[1]] == ["text", "label", *ANSWERS[2:]]


def test_lists_and_rows_of_json_lines_in_tables(tmp_path):
    source, path = tmp_path / "rows.jsonl", tmp_path / "predicted.csv"
    rows = [{"id": 5, "tokens": ["Ann", "left"]}, {"tokens": ["so"], "more": {"a": 1}}]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    task = TaggingTask(labels=("B-PER", "O"), default="O")
    prepared = PreparedRows(task.read(source, needs_labels=False), None)
    predictions = PredictedTags([["B-PER", "O"], ["O"]], [[0.5, 1.0], [1.0]])
    write_predictions(path, task, prepared, predictions, source=source)
    first, second = (row for _, row in read_table(path))
    assert (first["id"], first["more.a"]) == ("5", "")
    assert (second["id"], second["more.a"]) == ("", "1")
    assert json.loads(first["tokens"]) == ["Ann", "left"]
    entity = {"text": "Ann", "type": "PER", "start": 0, "end": 3, "score": 0.5}
    assert [json.loads(row["entities"]) for row in (first, second)] == [[entity], []]
    assert first["prediction"] == "Ann/B-PER left/O"
    path = path.with_suffix(".jsonl")
    write_predictions(path, task, prepared, predictions, source=source)
    lines = map(json.loads, path.read_text().splitlines())
    assert [row["tokens"] for row in lines] == [["Ann", "left"], ["so"]]


def test_formats_of_a_server_and_of_nobody(tmp_path):
    task = TextClassificationTask(labels=("0", "1"))
    write_predictions(tmp_path / "SST-2.tsv", task, PREPARED, LOGITS)
    written = (tmp_path / "SST-2.tsv").read_text()
    assert written == "index\tprediction\n0\t1\n1\t0\n2\t0\n"
    for own_format in (TASKS["squad"], TASKS["race"], TASK, MaskedWordsTask(None)):
        with pytest.raises(ValueError, match="end in .jsonl.*a.xlsx"):
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
        assert path.read_bytes().endswith(b'\n"one\rtwo",""\n')
    else:
        assert b"\r" not in path.read_bytes()
