"""Training of embedders, and scores by the kind of rows."""

import dataclasses
import json

import numpy as np
import pytest

import albert_keras as ak
from albert_keras.tasks import TASKS
from albert_keras.tasks.embedding import EmbeddingRows, EmbeddingTask, RetrievalRows
from albert_keras.tasks.prediction import task_of
from tests.tasks.task_checks import make_backbone, run_task_test

TEXTS = ["a charming film", ""]
WORDS = ("amber", "birch", "cedar", "dune", "ember")
PAIRS = [f"{word} house" for word in WORDS]
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
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
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
