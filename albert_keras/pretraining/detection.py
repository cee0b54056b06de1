"""Loss and metrics of replaced-token detection.

Targets are the ids of the original tokens. Predictions are the `detection` of an
`AlbertReplacedTokenPretrainer`: which tokens were replaced depends on its samples.
"""

import keras
from keras import ops


def replaced(original_ids, detection):
    """Returns 1 where the piece that was read is not the original, else 0.

    Args:
        original_ids: Integers, `(batch, sequence_length)`.
        detection: Floats, `(batch, sequence_length, 2)`: a logit and a piece.
    """
    pieces = detection[..., 1]
    differs = ops.not_equal(ops.cast(original_ids, pieces.dtype), pieces)
    return ops.cast(differs, pieces.dtype)


def is_right(original_ids, detection):
    """Returns 1 where the sign of the logit says whether a token was replaced, else 0."""
    says_replaced = ops.cast(detection[..., 0] > 0, detection.dtype)
    right = ops.equal(says_replaced, replaced(original_ids, detection))
    return ops.cast(right, detection.dtype)


class DetectionCrossentropy(keras.losses.Loss):
    """Cross-entropy of "replaced" against "original", for each token.

    Example:

    >>> loss = DetectionCrossentropy()
    >>> round(float(loss(ops.array([[7]]), ops.array([[[2.0, 7.0]]]))), 4)
    2.1269

    Reference: Clark et al. 2020, ELECTRA, section 2.
    """

    def __init__(self, name="detection_crossentropy", **kwargs):
        super().__init__(name=name, **kwargs)

    def call(self, y_true, y_pred):
        target = replaced(y_true, y_pred)
        return ops.binary_crossentropy(target, y_pred[..., 0], from_logits=True)


class DetectionRecall(keras.metrics.Mean):
    """Share of the replaced tokens that the logit calls replaced."""

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_pred = ops.convert_to_tensor(y_pred)
        weights = replaced(y_true, y_pred)
        if sample_weight is not None:
            weights = weights * ops.cast(sample_weight, weights.dtype)
        super().update_state(is_right(y_true, y_pred), weights)


def detection_metrics():
    """Returns new metrics: accuracy, share of replaced tokens, recall of these."""
    wrapper = keras.metrics.MeanMetricWrapper
    return [
        wrapper(is_right, name="accuracy"),
        wrapper(replaced, name="replaced_share"),
        DetectionRecall(name="recall"),
    ]
