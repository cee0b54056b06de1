#!/usr/bin/env python3
"""Baselines without a neural network: TF-IDF with a linear model, and word search.

As a script it measures TF-IDF, BM25 and embedders on rows of the task `embedding`, or on
SQuAD's questions, each of which is searched among all paragraphs.

examples:
  tools/experiments/baselines.py STS-B/dev.csv
  tools/experiments/baselines.py squad/dev-v1.1.json --embedders runs/embedder
"""

import pathlib
import sys
import warnings

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from albert_keras.converters import load_checkpoint
from albert_keras.runs.inference import LoadedModel
from albert_keras.tasks import TASKS, PreparedRows
from albert_keras.tasks.embedding import (
    EmbeddingRows,
    RetrievalRows,
    retrieval_scores,
    search,
)
from albert_keras.tasks.metrics import METRICS
from albert_keras.tasks.prediction import task_of
from albert_keras.tasks.text_classification.reading import LabelledTexts
from tools.parser import new_parser

# Counts of one and two words, and of single Chinese characters.
WORDS = {"token_pattern": r"[\u4e00-\u9fff]|[^\W\u4e00-\u9fff]+"}
TF_IDF = {**WORDS, "ngram_range": (1, 2), "sublinear_tf": True}
# Inverse strengths of regularization.
WEAKNESSES = (0.3, 1.0, 3.0, 10.0)
FOLDS = 4
# Saturation of repeated words, and how much long texts are discounted: Lucene's.
SATURATION, DISCOUNT = 1.2, 0.75


def linear_baseline(task, train, held_out):
    """Returns the main score of a linear model on held-out rows, where 1 is perfect.

    Features are TF-IDF of one and two words, of each side of a pair its own, and their
    cosine; the model is a logistic regression, for numbers a ridge regression. How weakly
    it is regularized is chosen by cross-validation on the training rows.

    Args:
        task: `FinetuningTask`.
        train, held_out: Rows of `task.read`.

    Returns:
        float, or None for a task whose rows are not texts with one label each.
    """
    if not (isinstance(train, LabelledTexts) and isinstance(train.labels[0], str)):
        return None
    task = task.for_run(train, None)
    vectorizer = TfidfVectorizer(**TF_IDF, dtype=np.float32)
    vectorizer.fit([*train.texts, *(train.pairs or [])])
    targets, features = task.targets(train), as_features(vectorizer, train)
    if is_number := np.issubdtype(targets.dtype, np.floating):
        search = GridSearchCV(Ridge(), {"alpha": [1 / x for x in WEAKNESSES]}, cv=FOLDS)
    else:
        search = GridSearchCV(LogisticRegression(), {"C": WEAKNESSES}, cv=FOLDS)
    with warnings.catch_warnings():
        # The optimum to four digits is as good.
        warnings.simplefilter("ignore", ConvergenceWarning)
        search.fit(features, targets)
    features = as_features(vectorizer, held_out)
    predict = search.predict if is_number else search.predict_log_proba
    predictions = predict(features).reshape(len(held_out.texts), -1)
    scores = task.score(PreparedRows(held_out, None), predictions)
    return scores[task.main_metric] / task.perfect_score


def as_features(vectorizer, rows):
    """Returns the features of rows, sparse `(num_rows, num_features)`."""
    texts = vectorizer.transform(rows.texts)
    if rows.pairs is None:
        return texts
    pairs = vectorizer.transform(rows.pairs)
    cosines = sparse.csr_matrix(texts.multiply(pairs).sum(axis=1))
    return sparse.hstack([texts, pairs, cosines]).tocsr()


def word_baselines(rows):
    """Returns the scores by the name of the baseline, a dict of dicts.

    Args:
        rows: `EmbeddingRows` of pairs, with numbers as labels or without any; or
            `RetrievalRows`.
    """
    if not isinstance(rows, RetrievalRows) and rows.labels is not None:
        vectorizer = TfidfVectorizer(**TF_IDF)
        vectors = vectorizer.fit_transform([*rows.texts, *rows.pairs]).toarray()
        cosines = (vectors[: len(rows.texts)] * vectors[len(rows.texts) :]).sum(axis=1)
        return {"tf_idf": {"spearman": METRICS["spearman"](rows.labels, cosines)}}
    if not isinstance(rows, RetrievalRows):
        rows = RetrievalRows.of_pairs(rows)
    queries, documents = [*rows.queries.values()], [*rows.documents.values()]
    weights = TfidfVectorizer(**TF_IDF).fit_transform([*queries, *documents])
    sides = {
        "tf_idf": (weights[: len(queries)], weights[len(queries) :]),
        "bm25": bm25(queries, documents),
    }
    return {name: scores_of(rows, *side) for name, side in sides.items()}


def scores_of(rows, queries, documents):
    """Returns the scores of search by products of sparse rows."""
    products = (queries @ documents.T).toarray()
    found = search(products, np.eye(len(rows.documents)))
    names = [*rows.documents]
    found = [[names[place] for place in row] for row in found]
    return retrieval_scores(found, [*rows.relevance.values()])


def bm25(queries, documents):
    """Returns sparse rows whose products are the scores of BM25.

    Reference: Robertson and Zaragoza 2009, with the inverse frequency of Lucene.
    """
    counter = CountVectorizer(**WORDS)
    counts = counter.fit_transform(documents).astype(float).tocoo()
    lengths = np.asarray(counts.sum(axis=1)).ravel()
    frequency = np.bincount(counts.col, minlength=counts.shape[1])
    rarity = np.log1p((len(documents) - frequency + 0.5) / (frequency + 0.5))
    length = lengths[counts.row] / lengths.mean()
    slack = SATURATION * (1 - DISCOUNT + DISCOUNT * length)
    counts.data = rarity[counts.col] * counts.data / (counts.data + slack)
    return counter.transform(queries).astype(float), counts.tocsr()


def embedder_scores(name, rows):
    """Returns the scores of an embedder's cosines.

    Args:
        name: Run or checkpoint; one without this head has the mean of its states.
        rows: As for `word_baselines`.
    """
    model = load_checkpoint(name, head="text_embedding", tokenizer=name)
    task = task_of(model)
    return LoadedModel(task, model).predict_rows(task.prepare(rows), 64).score()


def read_rows(path):
    """Returns rows of the task `embedding`; of SQuAD's JSON questions and paragraphs."""
    if not path.endswith(".json"):
        return TASKS["embedding"].read(path)
    rows = TASKS["squad"].read(path, needs_labels=False)
    return EmbeddingRows([row.question for row in rows], [row.context for row in rows])


def main(argv=None):
    """Prints the scores on a file of rows."""
    parser = new_parser(__doc__)
    add = parser.add_argument
    add("rows", help="table of pairs, folder in BEIR's layout, or SQuAD's JSON")
    add("--embedders", nargs="+", default=[], help="runs, presets or checkpoints")
    arguments = parser.parse_args(argv)
    rows = read_rows(arguments.rows)
    found = word_baselines(rows)
    found |= {name: embedder_scores(name, rows) for name in arguments.embedders}
    for name, scores in found.items():
        print(name, {score: round(value, 4) for score, value in scores.items()})


if __name__ == "__main__":
    main()
