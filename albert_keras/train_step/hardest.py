"""Loss of the hardest share of a batch's targets."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="albert_keras")
class HardestShare(keras.losses.Loss):
    """Another loss, of which an `ExactTrainStep` trains on the largest values alone.

    Of the targets with a weight, over all replicas and micro-batches, `share` is kept,
    rounded up. Equal values at the border count in equal parts, so that neither their
    order nor the division of the batch matters. The values are those of the step itself,
    or, where it is computed in parts, those of a forward pass before it, without dropout.
    Evaluation measures all targets.

    Args:
        loss: `keras.losses.Loss` with a mean as its reduction, of one of the outputs
            that a model has by name.
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


def keep_hardest(values, weights, share, gather):
    """Returns the weights of the targets with the largest values, 0 for all others.

    Args:
        values, weights: Tensors of one shape, of this replica.
        share: float. See `HardestShare`.
        gather: Function from a vector to those of all replicas, concatenated.
    """
    dtype = values.dtype
    counted = ops.where(ops.cast(weights, dtype) > 0, values, -float("inf"))
    # (num_targets,) of the whole batch, in descending order
    ranked = ops.flip(ops.sort(gather(ops.reshape(counted, (-1,)))))
    num_targets = ops.sum(ops.cast(ranked > -float("inf"), dtype))
    # Less a rounding error: 0.1 of 30 is 3.
    num_kept = ops.ceil(share * num_targets * (1 - 1e-6))
    border = ops.take(ranked, ops.maximum(ops.cast(num_kept, "int32") - 1, 0))
    num_above = ops.sum(ops.cast(ranked > border, dtype))
    num_equal = ops.sum(ops.cast(ranked == border, dtype))
    of_equal = (num_kept - num_above) / num_equal
    kept = ops.where(values > border, 1.0, ops.where(values == border, of_equal, 0.0))
    return weights * ops.cast(kept, weights.dtype)
