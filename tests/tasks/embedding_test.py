"""Training of embedders, scores by the kind of rows, files, and search."""

import dataclasses
import json

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

import albert_keras as ak
from albert_keras.tasks import TASKS
from albert_keras.tasks.embedding import (
    EmbeddingColumns,
    EmbeddingRows,
    EmbeddingTask,
    RetrievalRows,
    retrieval_scores,
    search,
)
from albert_keras.tasks.prediction import task_of
from tests.tasks.task_checks import make_backbone, run_task_test

TEXTS = ["a charming film", ""]
WORDS = ("amber", "birch", "cedar", "dune", "ember")
PAIRS = [f"{word} house" for word in WORDS]
DRAW = np.random.default_rng(5)
COSENT, TAUGHT = {"objective": "cosent"}, {"objective": "distillation"}


def make_task(**fields):
    return dataclasses.replace(TASKS["embedding"], **fields)


def test_pairs_are_learned_and_found(tokenizer, tmp_path):
    rows = EmbeddingRows([*WORDS], PAIRS, ["cold", *PAIRS[:-1]])
    task = make_task(least_dimensions=8)
    task, prepared, _, predictions = run_task_test(
        task, rows, tokenizer, tmp_path, learned=("recall_at_1", 0.99)
    )
    named = RetrievalRows({"q": WORDS[1]}, dict(enumerate(PAIRS)), {"q": {1: 1.0}})
    searched = task.prepare(named)
    vectors = predictions[[prepared.details[text] for text in (WORDS[1], *PAIRS)]]
    assert task.score(searched, vectors)["mrr_at_10"] == 1.0


@pytest.mark.parametrize(
    ("objective", "rows", "num_texts", "labels"),
    [
        ("cosent", EmbeddingRows([*WORDS], PAIRS, None, [0.5, 1, 2, 3, 5]), 2, (5,)),
        ("simcse", EmbeddingRows([*WORDS]), 2, (5, 2)),
        ("distillation", EmbeddingRows([*WORDS], labels=[*np.eye(5, 7)]), 1, (5, 7)),
    ],
)
def test_rows_are_packed_for_their_loss(tokenizer, objective, rows, num_texts, labels):
    task = make_task(objective=objective).for_run(rows, tokenizer)
    prepared = task.prepare(rows, training=True)
    assert prepared.examples.num_choices == num_texts
    assert prepared.examples.example_arrays["labels"].shape == labels
    model = task.build_model(make_backbone())
    assert model.dense_dim == task.vector_dim == (7 if num_texts == 1 else None)
    batch = prepared.examples.padded(np.arange(5), 11)
    vectors = task.learner_of(model)(task.features(batch), training=True)
    value = float(task.losses()(prepared.examples.example_arrays["labels"], vectors))
    assert 0 < value < 3 * task.prior_loss(prepared)
    # Equal texts have different dropout.
    assert task.recipe.dropout == (0.1 if objective == "simcse" else None)


def test_scores_are_those_of_the_rows(tokenizer):
    vectors = np.array([[1.0, 0], [0, 2], [3, 0], [1, 1]], "float32")
    rows = EmbeddingRows(["a", "a", "a"], ["b", "c", "d"], None, [1.0, 5.0, 4.0])
    task = make_task(objective="cosent").for_run(rows, tokenizer)
    prepared = task.prepare(rows)
    assert [*prepared.details] == ["a", "b", "c", "d"]
    expected = {"score": 1.0, "spearman": 1.0, "num_examples": 3}
    assert task.score(prepared, vectors) == pytest.approx(expected)
    rows = EmbeddingRows(["a", "b"], labels=[vectors[3], vectors[1]])
    task = make_task(objective="distillation").for_run(rows, tokenizer)
    scores = task.score(task.prepare(rows), vectors[:2])
    assert scores["cosine"] == pytest.approx((0.5**0.5 + 1) / 2)
    rows = EmbeddingRows(["a", "b"])
    with pytest.raises(ValueError, match="Received: texts alone"):
        make_task(objective="simcse").for_run(rows, tokenizer).prepare(rows)


@pytest.mark.parametrize(
    ("fields", "rows", "message"),
    [
        ({}, EmbeddingRows(["a"], ["b"]), "cannot fall. Received: 1 "),
        ({"objective": "simcse"}, EmbeddingRows(["a"] * 3), "Received: 3 "),
        (
            COSENT,
            EmbeddingRows(["a", "b"], ["c", "d"], None, [2.0, 2.0]),
            "Received: 2 ",
        ),
        ({}, EmbeddingRows(["a"], ["b"], None, [2.0]), "column `label`"),
        ({}, RetrievalRows({}, {}, {}), "a data set of search"),
        (TAUGHT, EmbeddingRows(["a", "b"], labels=[1.0, 2.0]), "vectors=False"),
        (TAUGHT, EmbeddingRows(["a", "b"], labels=[np.ones(3)] * 2), "Received: 2 "),
    ],
)
def test_rows_without_anything_to_learn_are_refused(tokenizer, fields, rows, message):
    with pytest.raises(ValueError, match=message):
        make_task(**fields).for_run(rows, tokenizer).prepare(rows, training=True)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["good", 2], "A label must be a finite number"),
        ([[1, 2], [1, 2, 3]], "lists of the same length. Received: sizes 2, 3"),
        ([2, [1, 2]], "Received: sizes 0, 2"),
    ],
)
def test_labels_are_numbers(tmp_path, labels, message):
    rows = [{"text": "a", "text_pair": "b", "label": label} for label in labels]
    path = write_lines(tmp_path / "rows.jsonl", rows)
    with pytest.raises(ValueError, match=message):
        make_task(objective="distillation").read(path)


def test_leading_dimensions_are_at_most_the_models(tokenizer):
    task = make_task(least_dimensions=1000).for_run(None, tokenizer)
    with pytest.raises(ValueError, match="Received: least_dimensions=1000"):
        task.build_model(make_backbone())


def test_an_embedder_has_a_task_of_vectors():
    model = ak.AlbertTextEmbedder.from_preset("albert_nano_en")
    task = task_of(model)
    assert isinstance(task, EmbeddingTask)
    prepared = task.prepare(task.rows_of([TEXTS[0], {"text": TEXTS[1]}]))
    vectors = task.predict(model, prepared, batch_size=3)
    assert np.abs(vectors - model.encode_text(TEXTS)).max() < 1e-5
    described = task.describe(prepared, vectors)
    assert [row["text"] for row in described] == TEXTS
    assert described[1]["embedding"] == vectors[1].tolist()


# === Files ===


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
        make_task().read(path)
    skipping = EmbeddingColumns(skips_broken=True)
    read = make_task(columns=skipping).read(path)
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


# === Exact search, and its scores by hand and by scikit-learn ===


def test_documents_are_found_in_their_order(monkeypatch):
    monkeypatch.setattr("albert_keras.tasks.embedding._BLOCK", 3)
    queries, documents = DRAW.normal(size=(7, 5)), DRAW.normal(size=(23, 5))
    expected = np.argsort(-(queries @ documents.T), axis=1)
    assert np.array_equal(search(queries, documents, 11), expected[:, :11])
    assert np.array_equal(search(queries, documents), expected)


def test_scores_counted_by_hand():
    found = [["a", "b", "c"], ["c", "a", "b"]]
    scores = retrieval_scores(found, [{"b": 1.0, "x": 1.0}, {"c": 2.0}])
    ndcg = (1 / np.log2(3)) / (1 + 1 / np.log2(3))
    assert scores == pytest.approx(
        {
            "ndcg_at_10": (ndcg + 1) / 2,
            "recall_at_1": 0.5,
            "recall_at_10": 0.75,
            "recall_at_100": 0.75,
            "mrr_at_10": 0.75,
        }
    )


def test_ndcg_is_that_of_scikit_learn():
    gains = DRAW.integers(0, 4, (5, 17))
    order = np.argsort(-DRAW.random((5, 17)), axis=1)
    places = np.argsort(order, axis=1)
    relevance = [{n: float(g) for n, g in enumerate(row) if g} for row in gains]
    expected = ndcg_score(gains, -places, k=10)
    assert retrieval_scores(order, relevance)["ndcg_at_10"] == pytest.approx(expected)
