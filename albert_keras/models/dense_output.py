"""Base of task models that end in dropout and one dense layer."""

import keras

from albert_keras.layers.configured import truncated_normal
from albert_keras.layers.seeds import Dropout
from albert_keras.models.task import FineTuned


class DenseOutput(FineTuned):
    """Mixin of task models with a dense layer, named `logits` in all of them."""

    def add_output_layers(self, backbone, num_outputs, dropout):
        """Builds `output_dropout` and `output_dense`.

        Args:
            backbone: `AlbertBackbone`, for its initializer range and dtype.
            num_outputs: int. Number of units of the dense layer.
            dropout: float in [0, 1).
        """
        self.dropout = dropout
        self.output_dropout = Dropout(
            dropout, dtype=backbone.dtype_policy, name="output_dropout"
        )
        self.output_dense = keras.layers.Dense(
            num_outputs,
            kernel_initializer=truncated_normal(backbone.albert_config),
            dtype=backbone.variable_dtype,
            name="logits",
        )
