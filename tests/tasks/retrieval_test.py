"""Exact search, and its scores by hand and by scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

from albert_keras.tasks.embedding import retrieval_scores, search

DRAW = np.random.default_rng(5)


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
