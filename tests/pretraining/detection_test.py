"""Loss and metrics of replaced-token detection, against plain loops."""

import numpy as np
import pytest

from albert_keras.pretraining.detection import (
    DetectionCrossentropy,
    detection_metrics,
)

RANDOM = np.random.default_rng(5)
ORIGINALS = RANDOM.integers(5, 61, (3, 7), "int32")
PIECES = np.where(RANDOM.random((3, 7)) < 0.4, 9, ORIGINALS)
LOGITS = RANDOM.normal(0.0, 3.0, (3, 7))
DETECTION = np.stack([LOGITS, PIECES], axis=2).astype("float32")
WEIGHTS = RANDOM.integers(0, 2, (3, 7)).astype("float32")


def weighted_tokens():
    """Yields the logit of each token with a weight, and whether it was replaced."""
    for row, column in zip(*np.nonzero(WEIGHTS), strict=True):
        yield LOGITS[row, column], PIECES[row, column] != ORIGINALS[row, column]


def test_loss_is_the_mean_over_weighted_tokens():
    probabilities = [
        1 / (1 + np.exp(-logit if was_replaced else logit))
        for logit, was_replaced in weighted_tokens()
    ]
    loss = DetectionCrossentropy(reduction="mean_with_sample_weight")
    received = float(loss(ORIGINALS, DETECTION, WEIGHTS))
    assert received == pytest.approx(-np.log(probabilities).mean(), rel=1e-5)


def test_metrics_count_weighted_tokens():
    tokens = list(weighted_tokens())
    num_replaced = sum(was_replaced for _, was_replaced in tokens)
    num_found = sum(was_replaced for logit, was_replaced in tokens if logit > 0)
    num_right = sum((logit > 0) == was_replaced for logit, was_replaced in tokens)
    assert 0 < num_found < num_replaced < len(tokens)
    results = {}
    for metric in detection_metrics():
        # Of several batches.
        for rows in (slice(0, 1), slice(1, 3)):
            metric.update_state(ORIGINALS[rows], DETECTION[rows], WEIGHTS[rows])
        results[metric.name] = float(metric.result())
    assert results == pytest.approx(
        {
            "accuracy": num_right / len(tokens),
            "replaced_share": num_replaced / len(tokens),
            "recall": num_found / num_replaced,
        }
    )
