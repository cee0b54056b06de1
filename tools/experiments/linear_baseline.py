"""TF-IDF with a linear model: the plain baseline of tasks on texts and pairs."""

import warnings

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV

from albert_keras.tasks.finetuning import PreparedRows
from albert_keras.tasks.text_classification.reading import LabelledTexts

# Words, and single Chinese characters.
TOKENS = r"[\u4e00-\u9fff]|[^\W\u4e00-\u9fff]+"
# Inverse strengths of regularization.
WEAKNESSES = (0.3, 1.0, 3.0, 10.0)
FOLDS = 4


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
    vectorizer = TfidfVectorizer(
        token_pattern=TOKENS, ngram_range=(1, 2), sublinear_tf=True, dtype=np.float32
    )
    vectorizer.fit([*train.texts, *(train.pairs or [])])
    features, held_out_features = (
        as_features(vectorizer, x) for x in (train, held_out)
    )
    predictions = predict(task.targets(train), features, held_out_features)
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


def predict(targets, features, held_out_features):
    """Returns logits or numbers of the held-out rows, `(num_rows, num_classes or 1)`."""
    is_number = np.issubdtype(targets.dtype, np.floating)
    if is_number:
        search = GridSearchCV(Ridge(), {"alpha": [1 / x for x in WEAKNESSES]}, cv=FOLDS)
    else:
        search = GridSearchCV(LogisticRegression(), {"C": WEAKNESSES}, cv=FOLDS)
    with warnings.catch_warnings():
        # The optimum to four digits is as good.
        warnings.simplefilter("ignore", ConvergenceWarning)
        search.fit(features, targets)
    if is_number:
        return search.predict(held_out_features)[:, None]
    return search.predict_log_proba(held_out_features)
