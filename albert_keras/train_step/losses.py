"""Losses of a training step: weighted sums, hardest targets, whole batches, smoothing."""

from typing import Any, NamedTuple

import keras
from keras import ops

from albert_keras.train_step.weights import update_mean

MEANS = ("sum_over_batch_size", "mean", "mean_with_sample_weight", "auto")


class OutputLosses:
    """Weighted sum of the losses of a model's outputs.

    Args:
        losses: Loss, as for `weighted_sum`, or a dict of losses by output name. `None`
            is no loss.
        weights: Number, or a dict of numbers by output name. Default 1.

    Attributes:
        means: Dict of running means by output name, if there are several losses.
    """

    def __init__(self, losses=None, weights=None):
        by_name = losses if isinstance(losses, dict) else {"output": losses}
        if not isinstance(weights, dict):
            weights = dict.fromkeys(by_name, 1.0 if weights is None else weights)
        if losses is not None and not weights.keys() <= by_name.keys():
            raise ValueError(
                "`loss_weights` must have the names of losses. Received: "
                f"weights {', '.join(weights)} for {', '.join(by_name)}."
            )
        self.losses = {name: loss for name, loss in by_name.items() if loss is not None}
        self.weights = weights
        named = self.losses if len(self.losses) > 1 else ()
        self.means = {name: keras.metrics.Mean(f"{name}_loss") for name in named}
        self.of_whole_batches = {
            name: loss
            for name, loss in self.losses.items()
            if isinstance(loss, WholeBatchLoss)
        }

    def by_name(self, data):
        """Returns targets or outputs as a dict; with one loss, `data` may be a tensor."""
        if not isinstance(data, dict):
            data = {name: data for name in self.losses if len(self.losses) == 1}
        if not self.losses.keys() <= data.keys():
            raise ValueError(
                "Targets and outputs must have the names of the losses. Received: "
                f"{', '.join(data) or 'one tensor'} for {', '.join(self.losses)}."
            )
        return data

    def add(self, y, y_pred, shares, training):
        """Returns the contribution of a part to the loss, and updates the means.

        Args:
            y, y_pred: Targets and outputs of the part, tensors or dicts by name.
            shares: `GlobalWeights` of the part.
            training: bool. If true, a `HardestShare` selects targets.
        """
        y, y_pred, total = self.by_name(y), self.by_name(y_pred), 0.0
        for name, loss in self.losses.items():
            weights = shares.weights[name]
            value = weighted_sum(loss, y[name], y_pred[name], weights, training)
            if name in self.means:
                update_mean(self.means[name], value, shares)
            total += value * self.weights.get(name, 1.0)
        return total


def as_mean(loss):
    """Returns a Keras loss for a name, function or object; checks that it is a mean."""
    loss = keras.losses.get(loss)
    if isinstance(loss, keras.losses.Loss) and loss.reduction not in MEANS:
        raise ValueError(
            "A loss must be a mean, which the step computes over the whole batch. "
            f"Received: {loss.name} with reduction={loss.reduction!r}. Leave "
            "`reduction` out, and scale by `loss_weights`."
        )
    return loss


def weighted_sum(loss, y_true, y_pred, weights, training=False):
    """Returns the sum of the weighted values of a loss.

    If the weights sum to 1 over the whole batch, the sum of the results of all parts, on
    any number of replicas, is the weighted mean over the batch.

    Args:
        loss: `keras.losses.Loss`, whose `call` is used; or a function `(y_true, y_pred)`
            that returns a value for each example, or their mean.
        y_true, y_pred, weights: Tensors `(batch, ...)`.
        training: bool. See `OutputLosses.add`.
    """
    if isinstance(loss, WholeBatchLoss):
        return loss.of_part(y_true, y_pred, ops.sum(weights))
    # Keras' losses would cast to its float type, which may be narrower than the model's.
    y_true, y_pred = map(ops.convert_to_tensor, (y_true, y_pred))
    if isinstance(loss, keras.losses.Loss):
        values = loss.call(y_true, y_pred)
    else:
        values = loss(*_of_one_rank(y_true, y_pred))
    dtype = keras.backend.result_type(values.dtype, "float32")
    values, weights = ops.cast(values, dtype), ops.cast(weights, dtype)
    if values.ndim == 0:
        # The function returned the mean of the part.
        values = ops.broadcast_to(values, ops.shape(weights))
    values = ops.mean(values, axis=tuple(range(weights.ndim, values.ndim)))
    if training and isinstance(loss, HardestShare):
        weights = loss.keep_hardest(values, weights)
    return ops.cast(ops.sum(values * weights), keras.config.floatx())


def _of_one_rank(y_true, y_pred):
    """Adds or removes a last axis of size 1, as Keras does for loss functions."""
    if y_true.ndim == y_pred.ndim + 1:
        y_pred, y_true = _of_one_rank(y_pred, y_true)
    elif y_pred.ndim == y_true.ndim + 1 and y_pred.shape[-1] == 1:
        if y_true.ndim == 1:
            y_true = ops.expand_dims(y_true, -1)
        else:
            y_pred = ops.squeeze(y_pred, -1)
    return y_true, y_pred


class Linearized(NamedTuple):
    """Linear approximation of a `WholeBatchLoss`, in place of the targets of a part.

    Attributes:
        value: Scalar. The loss of the whole batch.
        gradient: Its gradient with respect to the outputs of the part, `(rows, ...)`.
    """

    value: Any
    gradient: Any


class WholeBatchLoss(keras.losses.Loss):
    """Loss that compares the rows of a batch with each other, such as a contrastive loss.

    Its `call(y_true, y_pred)` returns the loss of all rows of a batch, a scalar.

    If an `ExactTrainStep` divides a batch, it computes the outputs of all parts without
    gradients, then the loss and its gradient with respect to all outputs, then each part
    again with the same dropout. So the step does not depend on how the batch is divided,
    and needs the memory of one part. Rows cannot have weights.

    Reference: Gao et al. 2021, arXiv 2101.06983, section 3.2.
    """

    def of_part(self, y_true, y_pred, share):
        """Returns the contribution of a part to the loss, with its gradient.

        Args:
            y_true: Targets of the whole batch, or the `Linearized` loss.
            y_pred: Outputs of the part.
            share: Scalar. The part's share of the rows.
        """
        if not isinstance(y_true, Linearized):
            return self.call(y_true, y_pred) * share
        change = y_pred - ops.stop_gradient(y_pred)
        return y_true.value * share + ops.sum(change * y_true.gradient)


@keras.saving.register_keras_serializable(package="albert_keras")
class SmoothedCrossentropy(keras.losses.Loss):
    """Cross-entropy of logits and class ids, with label smoothing.

    Keras has label smoothing only for one-hot targets.

    Args:
        label_smoothing: float in [0, 1). Share of a target's weight that is distributed
            evenly over all classes.

    Example:

    >>> loss = SmoothedCrossentropy(0.1)
    >>> round(float(loss(ops.array([0]), ops.array([[3.0, 0.0]]))), 4)
    0.1986

    Reference: Szegedy et al. 2016, Rethinking the Inception architecture, section 7.
    """

    # As in the losses of Keras.
    fn = staticmethod(keras.losses.sparse_categorical_crossentropy)
    from_logits = True

    def __init__(self, label_smoothing, name="smoothed_crossentropy", **kwargs):
        super().__init__(name=name, **kwargs)
        if not 0 <= label_smoothing < 1:
            raise ValueError(
                "`label_smoothing` must be at least 0 and less than 1. "
                f"Received: label_smoothing={label_smoothing}."
            )
        self.label_smoothing = label_smoothing

    def call(self, y_true, y_pred):
        chosen = self.fn(y_true, y_pred, from_logits=True)
        uniform = -ops.mean(ops.log_softmax(y_pred, axis=-1), axis=-1)
        share = self.label_smoothing
        return (1 - share) * chosen + share * uniform

    def get_config(self):
        return {**super().get_config(), "label_smoothing": self.label_smoothing}


@keras.saving.register_keras_serializable(package="albert_keras")
class HardestShare(keras.losses.Loss):
    """Wraps a loss so that training uses only the targets with the largest values.

    Among the targets with a weight, the largest `share`, rounded up, is kept, with ties.
    The kept targets get the weight of all. They are selected separately in each replica
    and micro-batch; so, unlike with other losses, the step depends on how the batch is
    divided. Evaluation uses all targets.

    Args:
        loss: `keras.losses.Loss` with values of at least 0, whose reduction is a mean. It
            must be the loss of a named output of an `ExactTrainStep`.
        share: float in (0, 1]. Share of the targets to keep.

    Example:

    ```python
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", {"mlm_logits": loss, "sop_logits": HardestShare(loss, 0.5)})
    ```

    Reference: Shrivastava et al. 2016, Training Region-based Object Detectors with
    Online Hard Example Mining.
    """

    def __init__(self, loss, share, name=None, **kwargs):
        # A dict if a saved loss is loaded.
        loss = keras.losses.get(loss)
        super().__init__(name=name or loss.name, **kwargs)
        if not 0 < share <= 1:
            raise ValueError(
                "`share` must be greater than 0 and at most 1. "
                f"Received: share={share}."
            )
        self.loss, self.share = loss, share

    def call(self, y_true, y_pred):
        return self.loss.call(y_true, y_pred)

    def get_config(self):
        loss = keras.losses.serialize(self.loss)
        return {**super().get_config(), "loss": loss, "share": self.share}

    def keep_hardest(self, values, weights):
        """Returns weights that are 0 for all targets but those with the largest values.

        Args:
            values, weights: Tensors of the same shape. The sum of the weights is kept.
        """
        values = ops.where(weights > 0, ops.stop_gradient(values), -float("inf"))
        num_targets = ops.sum(ops.cast(weights > 0, values.dtype))
        # The factor corrects rounding: a share of 0.1 of 30 targets is 3, not 4.
        num_kept = ops.ceil(self.share * num_targets * (1 - 1e-6))
        place = ops.size(values) - ops.cast(ops.maximum(num_kept, 1), "int32")
        least = ops.take(ops.sort(ops.ravel(values)), place)
        kept = weights * ops.cast(values >= least, weights.dtype)
        return kept * ops.divide_no_nan(ops.sum(weights), ops.sum(kept))
