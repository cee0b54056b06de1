"""Loss of the hardest share of a batch's targets."""

import keras
import numpy as np
from keras import ops

# Bounds of the powers of two in float32, and of 256 equal parts of one.
_OCTAVES = [0.0, *2.0 ** np.arange(-126, 128), float(np.finfo("float32").max)]
_PARTS = np.linspace(0, 1, 257)


@keras.saving.register_keras_serializable(package="albert_keras")
class HardestShare(keras.losses.Loss):
    """Another loss, of which an `ExactTrainStep` trains on the largest values alone.

    Of the targets with a weight, over all replicas and micro-batches, `share` is kept,
    rounded up. Equal values at the border (in the first 24 bits) count in equal parts,
    so that neither their order nor the division of the batch matters. The values are
    those of the step itself, or, where it is computed in parts, those of a forward pass
    before it, without dropout. Evaluation measures all targets.

    Args:
        loss: `keras.losses.Loss` of values of at least 0, with a mean as its reduction.
            It is the loss of one of the outputs that a model has by name.
        share: float in (0, 1]. Share of the targets that count.

    Example:

    ```python
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", {"mlm_logits": loss, "sop_logits": HardestShare(loss, 0.5)})
    ```

    Reference: Shrivastava et al. 2016, Training Region-based Object Detectors with
    Online Hard Example Mining.
    """

    def __init__(self, loss, share, name=None, **kwargs):
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

    @classmethod
    def from_config(cls, config):
        return cls(**{**config, "loss": keras.losses.deserialize(config["loss"])})


def ranked_outputs(losses):
    """Returns the names of the outputs whose loss is a `HardestShare`.

    Args:
        losses: Losses as `ExactTrainStep` keeps them: a dict by output name, or one.
    """
    by_name = losses if isinstance(losses, dict) else {}
    return [
        name
        for name, loss in by_name.items()
        if loss is not None and isinstance(loss.loss, HardestShare)
    ]


def ranked_values(losses, y, y_pred):
    """Returns the values by which targets are chosen, a dict by output name."""
    return {
        name: ops.stop_gradient(losses[name].loss.call(y[name], y_pred[name]))
        for name in ranked_outputs(losses)
    }


def keep_hardest(values, weights, share, sum_over_replicas):
    """Returns the weights of the targets with the largest values, 0 for all others.

    The smallest of these values is found by counting, since replicas can sum but not
    always gather: its power of two, then 8 bits at a time.

    Args:
        values, weights: Tensors of one shape, of this replica.
        share: float. See `HardestShare`.
        sum_over_replicas: As for `global_weights`.
    """
    values = ops.convert_to_tensor(values)
    dtype, axes = values.dtype, tuple(range(values.ndim))
    is_counted = ops.cast(weights > 0, dtype)
    (num_targets,) = sum_over_replicas([ops.sum(is_counted)])
    # Less a rounding error: 0.1 of 30 is 3.
    num_kept = ops.ceil(share * num_targets * (1 - 1e-6))
    bounds = ops.convert_to_tensor(_OCTAVES, dtype)
    for _ in range(4):
        is_reached = ops.cast(ops.expand_dims(values, -1) >= bounds, dtype)
        is_reached = is_reached * ops.expand_dims(is_counted, -1)
        # (num_bounds,) descending
        (num_reached,) = sum_over_replicas([ops.sum(is_reached, axis=axes)])
        place = ops.sum(ops.cast(num_reached >= num_kept, "int32")) - 1
        place = ops.clip(place, 0, bounds.shape[0] - 2)
        low, high = ops.take(bounds, place), ops.take(bounds, place + 1)
        bounds = low + (high - low) * ops.convert_to_tensor(_PARTS, dtype)
    is_above = ops.cast(values >= high, dtype)
    is_equal = ops.cast(values >= low, dtype) - is_above
    counts = [ops.sum(is_above * is_counted), ops.sum(is_equal * is_counted)]
    num_above, num_equal = sum_over_replicas(counts)
    of_equal = (num_kept - num_above) / ops.maximum(num_equal, 1)
    return weights * ops.cast(is_above + is_equal * of_equal, weights.dtype)
