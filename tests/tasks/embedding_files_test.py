"""Rows of texts, pairs, scores and vectors, and BEIR's layout."""

import json

import pytest

from albert_keras.tasks import TASKS
from albert_keras.tasks.embedding import (
    EmbeddingColumns,
    RetrievalRows,
    read_embedding_rows,
)

COLUMNS = EmbeddingColumns()
PAIR = ("text", "text_pair")


def write_search(folder):
    """Writes a data set of search in BEIR's layout."""
    documents = {"d1": ("Birds", "They fly."), "d2": ("", "It is cold.")}
    (folder / "qrels").mkdir()
    rows = [
        {"_id": name, "title": title, "text": text}
        for name, (title, text) in documents.items()
    ]
    write_lines(folder / "corpus.jsonl", rows)
    queries = [{"_id": "q1", "text": "what flies"}, {"_id": "q2", "text": "weather"}]
    write_lines(folder / "queries.jsonl", queries)
    judgements = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\n"
    (folder / "qrels" / "test.tsv").write_text(judgements)


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_columns_that_are_there_are_read(tmp_path):
    rows = [{"text": "a", "text_pair": "b", "negative": "c"}, {"text": "d"}]
    path = write_lines(tmp_path / "rows.jsonl", rows)
    with pytest.raises(ValueError, match="line 2"):
        read_embedding_rows(path, COLUMNS, PAIR)
    skipping = EmbeddingColumns(skips_broken=True)
    read = read_embedding_rows(path, skipping, PAIR)
    assert read == (["a"], ["b"], ["c"], None, 1)


def test_a_data_set_of_search_is_read(tmp_path):
    write_search(tmp_path)
    rows = TASKS["embedding"].read(tmp_path)
    documents = {"d1": "Birds They fly.", "d2": "It is cold."}
    assert rows == RetrievalRows({"q1": "what flies"}, documents, {"q1": {"d1": 2.0}})
    judgements = tmp_path / "qrels" / "test.tsv"
    assert TASKS["embedding"].read(judgements) == rows
    for judgement, message in (
        ("q1\td3\t1", "line 2, of q1 and d3"),
        ("q1\td1\tgood", "must be a finite number. Received: good"),
        ("q1\td1\t0", "a score above 0"),
    ):
        judgements.write_text(f"query-id\tcorpus-id\tscore\n{judgement}\n")
        with pytest.raises(ValueError, match=message):
            TASKS["embedding"].read(tmp_path)
