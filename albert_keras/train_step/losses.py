"""Losses for the step, which sees the whole batch, and one that Keras lacks."""

import keras
from keras import ops

MEANS = ("sum_over_batch_size", "mean", "mean_with_sample_weight", "auto")


@keras.saving.register_keras_serializable(package="albert_keras")
class WeightedSumLoss(keras.losses.Loss):
    """Sum of the weighted values of another loss.

    With weights that sum to 1 over the whole batch this is its weighted mean, and the sum
    over the parts of a batch, on however many replicas, is the mean over the whole.

    Args:
        loss: `keras.losses.Loss` that means to average; its `call` gives the values, its
            reduction is not used.

    Raises:
        ValueError: If `loss` is meant to be summed or not reduced.

    Example:

    >>> loss = WeightedSumLoss(keras.losses.MeanAbsoluteError())
    >>> float(loss([[0.0], [0.0]], [[1.0], [4.0]], sample_weight=[0.75, 0.25]))
    1.75
    """

    def __init__(self, loss, name=None, **kwargs):
        super().__init__(name=name or loss.name, reduction=None, **kwargs)
        if loss.reduction not in MEANS:
            raise ValueError(
                "A loss must be a mean: the step divides it by the weights of the whole "
                f"batch. Received: {loss.name} with reduction={loss.reduction!r}. Leave "
                "`reduction` out, and scale by `loss_weights`."
            )
        self.loss = loss

    def __call__(self, y_true, y_pred, sample_weight=None):
        # Not cast to Keras' float type, as its own losses are: the model's may be wider.
        y_true, y_pred = map(ops.convert_to_tensor, (y_true, y_pred))
        values = self.loss.call(y_true, y_pred)
        dtype = keras.backend.result_type(values.dtype, "float32")
        values, weights = ops.cast(values, dtype), ops.cast(sample_weight, dtype)
        if weights.ndim == values.ndim + 1:
            # A column, of targets that are a column too.
            weights = ops.squeeze(weights, -1)
        unweighted_axes = tuple(range(weights.ndim, values.ndim))
        return ops.sum(ops.mean(values, axis=unweighted_axes) * weights)

    def get_config(self):
        return {"name": self.name, "loss": keras.losses.serialize(self.loss)}

    @classmethod
    def from_config(cls, config):
        return cls(**{**config, "loss": keras.losses.deserialize(config["loss"])})


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
