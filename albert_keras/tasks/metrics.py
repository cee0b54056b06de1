"""Metrics of classification and regression.

Class ids are int `(num_examples,)`, regression scores float of the same shape.
Functions import scikit-learn and scipy when they need them, because this takes seconds.
"""

import functools

import numpy as np

# Values with a smaller relative difference are equal except for rounding.
_ROUNDING = 1e-12


def accuracy(targets, predictions):
    """Returns the share of correct class ids."""
    return float(np.mean(np.equal(targets, predictions)))


def f1(targets, predictions, average="binary"):
    """Returns the F1 of class 1 against class 0; 0.0 if class 1 does not occur.

    `average="macro"` is the mean F1 of the classes that occur in targets or predictions;
    see scikit-learn's `f1_score`.
    """
    from sklearn.metrics import f1_score

    return float(f1_score(targets, predictions, average=average, zero_division=0.0))


def matthews(targets, predictions):
    """Returns Matthews' correlation coefficient; 0.0 if one of them is constant.

    Reference: Matthews 1975; for more than two classes Gorodkin 2004.
    """
    from sklearn.metrics import matthews_corrcoef

    if _is_constant(targets) or _is_constant(predictions):
        return 0.0
    return float(matthews_corrcoef(targets, predictions))


def correlation(name, targets, predictions):
    """Returns a correlation of `scipy.stats`; 0.0 if one of its arrays is constant."""
    from scipy import stats

    if _is_constant(targets) or _is_constant(predictions):
        return 0.0
    arrays = np.asarray(targets, np.float64), np.asarray(predictions, np.float64)
    return float(getattr(stats, name)(*arrays).statistic)


METRICS = {
    "accuracy": accuracy,
    "f1": f1,
    "macro_f1": functools.partial(f1, average="macro"),
    "matthews": matthews,
    "pearson": functools.partial(correlation, "pearsonr"),
    "spearman": functools.partial(correlation, "spearmanr"),
}


def score(names, targets, logits):
    """Returns a dict of scores of a model's outputs.

    Args:
        names: Sequence of keys of `METRICS`, all of classification or all of regression.
        targets: int `(num_examples,)`, class ids, or float, numbers.
        logits: float `(num_examples, num_classes)`; for regression `(num_examples, 1)`
            or `(num_examples,)`.

    Example:

    >>> score(["accuracy", "f1"], np.array([1, 0, 1]), np.eye(2)[[1, 0, 0]])
    {'accuracy': 0.6666666666666666, 'f1': 0.6666666666666666}
    """
    check_finite_outputs(logits)
    is_score = logits.ndim == 1 or logits.shape[1] == 1
    predictions = logits.reshape(-1) if is_score else predicted_classes(logits)
    return {name: METRICS[name](targets, predictions) for name in names}


def predicted_classes(logits):
    """Returns the class with the greatest logit, int32 `(num_examples,)`.

    Among equal logits it is the lowest class id.
    """
    return np.argmax(logits, axis=-1).astype(np.int32)


def log_probabilities(probabilities):
    """Returns finite logarithms. They are logits, except for a constant in each row."""
    return np.log(np.maximum(probabilities, np.finfo(np.float32).tiny))


def check_finite_outputs(outputs):
    """Checks that a model's outputs `(num_examples, ...)` are finite."""
    is_finite = np.isfinite(outputs).reshape(len(outputs), -1)
    rows = np.flatnonzero(~is_finite.all(axis=1))
    if rows.size:
        raise ValueError(
            "A model's outputs must be finite. Received: NaN or infinity in "
            f"{rows.size} of {len(outputs)} rows, first {rows[0]}. "
            "If this concerns all rows, training diverged: lower the learning rate, or "
            "start from an earlier checkpoint. If only some, evaluate in float32."
        )


def label_ids(labels, names):
    """Returns the positions of `labels` in `names`, int32 `(num_rows,)`."""
    unknown = sorted(set(labels) - set(names))
    if unknown:
        raise ValueError(
            f"A label must be one of {', '.join(names)}. "
            f"Received: {', '.join(unknown[:5])}."
        )
    positions = {name: index for index, name in enumerate(names)}
    return np.array([positions[label] for label in labels], np.int32)


def majority_accuracy(targets):
    """Returns the accuracy of always predicting the most frequent class id."""
    return float(np.bincount(targets).max() / len(targets))


def entropy(counts):
    """Returns the entropy in nats of classes, from their absolute or relative counts.

    For counts `(num_classes, n)` it is the mean over n.
    """
    from scipy.stats import entropy as entropy_of

    return float(np.mean(entropy_of(counts)))


def rates(num_targets, num_predictions, num_correct):
    """Returns a dict of `precision`, `recall` and `f1`; 0.0 for 0 / 0."""
    return {
        "precision": num_correct / (num_predictions or 1),
        "recall": num_correct / (num_targets or 1),
        "f1": 2 * num_correct / (num_targets + num_predictions or 1),
    }


def classification_report(targets, predictions, labels):
    """Returns the confusion matrix and the scores of each class, as JSON values.

    Args:
        targets, predictions: int `(num_examples,)`, positions in `labels`.
        labels: Sequence of str, the names of the classes.

    Returns:
        Dict: `labels`; `confusion_matrix`, a list with a row for each target class, of
        the counts of the predicted classes; `classes`, see `rates_by_label`.
    """
    matrix = np.zeros((len(labels), len(labels)), int)
    np.add.at(matrix, (targets, predictions), 1)
    counts = matrix.sum(1), matrix.sum(0), matrix.diagonal()
    return {
        "labels": list(labels),
        "confusion_matrix": matrix.tolist(),
        "classes": rates_by_label(labels, *counts),
    }


def rates_by_label(labels, num_targets, num_predictions, num_correct):
    """Returns a dict for each label: `label`, `rates`, and `support`, its rows.

    The counts are int `(num_labels,)`.
    """
    counts = np.stack([num_targets, num_predictions, num_correct], axis=1).tolist()
    rows = zip(labels, counts, strict=True)
    return [{"label": label, **rates(*row), "support": row[0]} for label, row in rows]


def _is_constant(values):
    values = np.asarray(values, np.float64)
    return np.ptp(values) <= _ROUNDING * np.abs(values).max()
