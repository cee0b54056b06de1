"""Losses that Keras has only for targets of another form."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="albert_keras")
class SmoothedCrossentropy(keras.losses.Loss):
    """Cross-entropy of logits with class ids, some of whose weight goes to all classes.

    Keras smooths only one-hot targets.

    Args:
        label_smoothing: float in [0, 1). Share of the weight that is spread evenly.

    Raises:
        ValueError: If it is outside.

    Example:

    >>> loss = SmoothedCrossentropy(0.1)
    >>> round(float(loss(ops.array([0]), ops.array([[3.0, 0.0]]))), 4)
    0.1986

    Reference: Szegedy et al. 2016, Rethinking the Inception architecture, section 7.
    """

    def __init__(self, label_smoothing, name="smoothed_crossentropy", **kwargs):
        super().__init__(name=name, **kwargs)
        if not 0 <= label_smoothing < 1:
            raise ValueError(
                "`label_smoothing` must be at least 0 and less than 1. "
                f"Received: label_smoothing={label_smoothing}."
            )
        self.label_smoothing = label_smoothing

    def call(self, y_true, y_pred):
        log_probs = ops.log_softmax(y_pred, axis=-1)
        chosen = keras.losses.sparse_categorical_crossentropy(
            y_true, y_pred, from_logits=True
        )
        uniform = -ops.mean(log_probs, axis=-1)
        share = self.label_smoothing
        return (1 - share) * chosen + share * uniform

    def get_config(self):
        return {**super().get_config(), "label_smoothing": self.label_smoothing}
