"""TF-IDF and BM25, the baselines of embedders."""

import json
import math

import numpy as np
import pytest

from albert_keras.tasks.embedding import EmbeddingRows
from tools.experiments.baselines import bm25, main, word_baselines

TEXTS = ["amber birch", "cedar dune", "ember fjord grove"]


def test_a_score_of_bm25_by_hand():
    queries, documents = bm25(["birch"], TEXTS)
    length = 2 / (7 / 3)
    expected = math.log(1 + 2.5 / 1.5) / (1 + 1.2 * (0.25 + 0.75 * length))
    products = (queries @ documents.T).toarray()
    assert products == pytest.approx(np.array([[expected, 0, 0]]))


def test_scores_follow_from_common_words():
    scores = word_baselines(EmbeddingRows(["a birch", "the dune", "no grove"], TEXTS))
    recalls = {name: each["recall_at_1"] for name, each in scores.items()}
    assert recalls == {"tf_idf": 1.0, "bm25": 1.0}
    pairs = ["amber birch", "cedar grove", "dune"]
    scores = word_baselines(EmbeddingRows(TEXTS, pairs, None, [5.0, 2.0, 0.0]))
    assert scores == {"tf_idf": {"spearman": pytest.approx(1.0)}}


def test_questions_are_searched_among_the_paragraphs(tmp_path, capsys):
    paragraphs = [
        {"context": text, "qas": [{"id": text[0], "question": question}]}
        for text, question in zip(
            TEXTS, ["What birch?", "A dune?", "Why?"], strict=True
        )
    ]
    (tmp_path / "dev.json").write_text(
        json.dumps({"data": [{"paragraphs": paragraphs}]})
    )
    main([str(tmp_path / "dev.json"), "--embedders", "albert_nano_en"])
    bm25_scores, embedder = capsys.readouterr().out.splitlines()[1:]
    assert bm25_scores.startswith("bm25 ")
    assert "'recall_at_10': 1.0" in bm25_scores
    assert embedder.startswith("albert_nano_en ")
    assert "'recall_at_10': 1.0" in embedder
    assert "'recall_at_1': 1.0" not in embedder
