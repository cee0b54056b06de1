"""Exact vector search, and its scores."""

import numpy as np

# Queries whose products with all documents are in memory at once.
_BLOCK = 256


def search(queries, documents, count=100):
    """Returns the documents with the greatest products with each query, best first.

    Args:
        queries, documents: float `(num_queries, dim)` and `(num_documents, dim)`.
        count: int. Documents to find for a query.

    Returns:
        Positions of documents, int `(num_queries, min(count, num_documents))`.

    Example:

    >>> search(np.eye(3)[:2], np.eye(3)[::-1], count=1).tolist()
    [[2], [1]]
    """
    count = min(count, len(documents))
    found = []
    for start in range(0, len(queries), _BLOCK):
        products = queries[start : start + _BLOCK] @ documents.T
        best = np.argpartition(-products, count - 1, axis=1)[:, :count]
        order = np.argsort(
            -np.take_along_axis(products, best, 1), axis=1, kind="stable"
        )
        found.append(np.take_along_axis(best, order, 1))
    return np.concatenate(found)


def retrieval_scores(found, relevance):
    """Returns the mean scores of queries.

    Args:
        found: List with the names of the documents found for each query, best first.
        relevance: List with a dict for each query, from names of documents to their
            relevance, above 0.

    Returns:
        Dict: `ndcg_at_10`, `recall_at_1`, `recall_at_10`, `recall_at_100`, `mrr_at_10`.

    Reference: Järvelin and Kekäläinen 2002, with gains as they are, as trec_eval.
    """
    discounts = 1 / np.log2(np.arange(10) + 2)
    sums = np.zeros(5)
    for names, gains in zip(found, relevance, strict=True):
        received = np.array([gains.get(name, 0.0) for name in names])
        best = np.sort([*gains.values()])[::-1][:10]
        top = received[:10]
        ranks = np.flatnonzero(top)
        sums += [
            top @ discounts[: len(top)] / (best @ discounts[: len(best)]),
            *(np.count_nonzero(received[:k]) / len(gains) for k in (1, 10, 100)),
            1 / (1 + ranks[0]) if len(ranks) else 0.0,
        ]
    names = ("ndcg_at_10", *(f"recall_at_{k}" for k in (1, 10, 100)), "mrr_at_10")
    return dict(zip(names, (sums / len(found)).tolist(), strict=True))
