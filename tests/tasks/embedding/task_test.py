"""Vectors as predictions of a task."""

import numpy as np

import albert_keras as ak
from albert_keras.tasks.embedding import EmbeddingTask
from albert_keras.tasks.prediction import task_of

TEXTS = ["a charming film", ""]


def test_an_embedder_has_a_task_of_vectors():
    model = ak.AlbertTextEmbedder.from_preset("albert_nano_en")
    task = task_of(model)
    assert isinstance(task, EmbeddingTask)
    prepared = task.prepare(task.rows_of([TEXTS[0], {"text": TEXTS[1]}]))
    vectors = task.predict(model, prepared, batch_size=3)
    assert np.array_equal(vectors, model.encode_text(TEXTS))
    described = task.describe(prepared, vectors)
    assert [row["text"] for row in described] == TEXTS
    assert described[1]["embedding"] == vectors[1].tolist()
