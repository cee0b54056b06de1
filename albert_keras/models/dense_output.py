"""What task models share that end in dropout and one dense layer."""

import keras

from albert_keras.layers.configured import truncated_normal
from albert_keras.layers.seeds import Dropout
from albert_keras.models.task import FineTuned


class DenseOutput(FineTuned):
    """Mixin of task models that are fine-tuned with a dense layer of logits.

    The layer is called `logits`, so that the variables of all these heads have one name.
    """

    def add_output_layers(self, backbone, num_outputs, dropout):
        """Makes `output_dropout` and `output_dense`.

        Args:
            backbone: `AlbertBackbone` whose config and float types they take.
            num_outputs: int. Width of the dense layer.
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
