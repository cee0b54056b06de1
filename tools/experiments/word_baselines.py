#!/usr/bin/env python3
"""Measures TF-IDF and BM25 on rows of the task `embedding`, beside those of embedders.

example:
  tools/experiments/word_baselines.py STS-B/dev.csv
"""

import argparse
import pathlib
import sys

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from albert_keras.tasks import TASKS
from albert_keras.tasks.embedding import RetrievalRows, retrieval_scores, search
from albert_keras.tasks.metrics import spearman
from tools.experiments.linear_baseline import TOKENS

# Saturation of repeated words, and how much long texts are discounted: Lucene's.
SATURATION, DISCOUNT = 1.2, 0.75


def word_baselines(rows):
    """Returns the scores by the name of the baseline, a dict of dicts.

    Args:
        rows: `EmbeddingRows` of pairs, with numbers as labels or without any; or
            `RetrievalRows`.
    """
    if not isinstance(rows, RetrievalRows) and rows.labels is not None:
        vectors = tf_idf([*rows.texts, *rows.pairs]).toarray()
        cosines = (vectors[: len(rows.texts)] * vectors[len(rows.texts) :]).sum(axis=1)
        return {"tf_idf": {"spearman": spearman(rows.labels, cosines)}}
    if not isinstance(rows, RetrievalRows):
        rows = RetrievalRows.of_pairs(rows)
    queries, documents = [*rows.queries.values()], [*rows.documents.values()]
    weights = tf_idf([*queries, *documents])
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


def tf_idf(texts):
    """Returns normalized counts of one and two words, sparse `(num_texts, num_words)`."""
    made = TfidfVectorizer(token_pattern=TOKENS, ngram_range=(1, 2), sublinear_tf=True)
    return made.fit_transform(texts)


def bm25(queries, documents):
    """Returns sparse rows whose products are the scores of BM25.

    Reference: Robertson and Zaragoza 2009, with the inverse frequency of Lucene.
    """
    counter = CountVectorizer(token_pattern=TOKENS)
    counts = counter.fit_transform(documents).astype(float).tocoo()
    lengths = np.asarray(counts.sum(axis=1)).ravel()
    frequency = np.bincount(counts.col, minlength=counts.shape[1])
    rarity = np.log1p((len(documents) - frequency + 0.5) / (frequency + 0.5))
    length = lengths[counts.row] / lengths.mean()
    slack = SATURATION * (1 - DISCOUNT + DISCOUNT * length)
    counts.data = rarity[counts.col] * counts.data / (counts.data + slack)
    return counter.transform(queries).astype(float), counts.tocsr()


def main(argv=None):
    """Prints the scores on a file of pairs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rows", help="table of pairs, or folder in BEIR's layout")
    rows = TASKS["embedding"].read(parser.parse_args(argv).rows)
    for name, scores in word_baselines(rows).items():
        print(name, {score: round(value, 4) for score, value in scores.items()})


if __name__ == "__main__":
    main()
