"""Losses whose value does not depend on how a batch is cut over devices."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="albert_keras")
class GlobalMeanLoss(keras.losses.Loss):
    """Weighted mean of a loss over the whole batch, on however many replicas.

    The sum of the weighted values of this replica over the sum of the weights of all
    replicas. Keras' own means divide by each replica's weights, and so give masked pieces
    a different weight on a replica that has few of them.

    Args:
        loss: `keras.losses.Loss`; its `call` gives the values, its reduction is not
            used.

    Example:

    >>> loss = GlobalMeanLoss(keras.losses.MeanAbsoluteError())
    >>> float(loss([[0.0], [0.0]], [[1.0], [4.0]], sample_weight=[3.0, 1.0]))
    1.75

    Reference: google-research/albert run_pretraining.py `get_masked_lm_output`, which
    normalises by the weights of each TPU shard and adds 1e-5 to their sum.
    """

    def __init__(self, loss, name="global_mean_loss", **kwargs):
        super().__init__(name=name, reduction=None, **kwargs)
        self.loss = loss

    def __call__(self, y_true, y_pred, sample_weight=None):
        y_true, y_pred = map(ops.convert_to_tensor, (y_true, y_pred))
        values = self.loss.call(y_true, y_pred)
        dtype = keras.backend.result_type(values.dtype, "float32")
        values = ops.cast(values, dtype)
        if sample_weight is None:
            sample_weight = ops.ones_like(values)
        weights = ops.broadcast_to(ops.cast(sample_weight, dtype), ops.shape(values))
        total_weight = _sum_over_replicas(ops.sum(weights))
        # A batch without any weight has loss 0, not 0 / 0.
        return ops.sum(values * weights) / ops.where(total_weight > 0, total_weight, 1)

    def get_config(self):
        return {"name": self.name, "loss": keras.losses.serialize(self.loss)}

    @classmethod
    def from_config(cls, config):
        return cls(**{**config, "loss": keras.losses.deserialize(config["loss"])})


def _sum_over_replicas(value):
    # JAX sees the whole batch in one program; only TensorFlow cuts it into replicas.
    if keras.config.backend() != "tensorflow":
        return value
    import tensorflow as tf

    context = tf.distribute.get_replica_context()
    if context is None or context.num_replicas_in_sync == 1:
        return value
    return context.all_reduce(tf.distribute.ReduceOp.SUM, value)
