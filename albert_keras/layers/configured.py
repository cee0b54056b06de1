"""Base class of layers with an `AlbertConfig`."""

import keras
from keras import ops

from albert_keras.config import AlbertConfig


class ConfiguredLayer(keras.layers.Layer):
    """Layer with the hyperparameters of an `AlbertConfig`.

    Args:
        albert_config: `AlbertConfig`, or its dict when a saved layer is loaded.
        **kwargs: Keras layer arguments (`name`, `dtype`).
    """

    def __init__(self, albert_config, **kwargs):
        super().__init__(**kwargs)
        if isinstance(albert_config, dict):
            albert_config = AlbertConfig.from_dict(albert_config)
        self.albert_config = albert_config

    def dense(self, units, name):
        """Returns a dense layer with the original's initializer and this dtype policy."""
        return dense_layer(self.albert_config, units, self.dtype_policy, name)

    def layer_norm(self, name="layer_norm"):
        """Returns a layer normalization with the config's epsilon and dtype policy."""
        return keras.layers.LayerNormalization(
            epsilon=self.albert_config.layer_norm_epsilon,
            dtype=self.dtype_policy,
            name=name,
        )

    def get_config(self):
        return {**super().get_config(), "albert_config": self.albert_config.to_dict()}


def flatten_sequences(x):
    """Reshapes `(batch, sequence_length, dim)` to `(batch * sequence_length, dim)`.

    Dense layers get such rows. For three axes of unknown sizes TensorFlow would compute
    the order of the axes in the graph, which XLA cannot compile in a loop.
    """
    return ops.reshape(x, (-1, x.shape[-1]))


def dense_layer(albert_config, units, dtype, name, **options):
    """Returns a `keras.layers.Dense` with the original's initializer.

    Args:
        albert_config: `AlbertConfig`.
        units: int.
        dtype: Keras dtype or dtype policy.
        name: str.
        **options: Other arguments of the layer.
    """
    return keras.layers.Dense(
        units,
        kernel_initializer=truncated_normal(albert_config),
        dtype=dtype,
        name=name,
        **options,
    )


def truncated_normal(albert_config):
    """Returns the initializer of all tables and kernels in Google's `modeling.py`."""
    return keras.initializers.TruncatedNormal(stddev=albert_config.initializer_range)
