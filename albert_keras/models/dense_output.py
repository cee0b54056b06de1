"""What task models share that end in dropout and one dense layer."""

import keras

from albert_keras.layers.configured import truncated_normal
from albert_keras.layers.seeds import Dropout
from albert_keras.models.task import LeavesIdlePooler, SavedWithDefaults
from albert_keras.train_step import ExactTrainStep


class DenseOutput(SavedWithDefaults, LeavesIdlePooler, ExactTrainStep):
    """Mixin of task models with a dense layer of logits, and defaults for fine-tuning.

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

    def default_loss(self):
        """Returns what `compile(loss="auto")` means: cross-entropy of logits."""
        return keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def default_metrics(self):
        """Returns what `compile(metrics="auto")` means: accuracy."""
        return [keras.metrics.SparseCategoricalAccuracy(name="accuracy")]

    def compile(self, optimizer="auto", loss="auto", *, metrics="auto", **kwargs):
        """Compiles for training; the defaults suit a first run on one device.

        Args:
            optimizer: Keras optimizer; `"auto"` means AdamW at 2e-5, a middle value of
                the paper's table 14.
            loss: `"auto"` means cross-entropy, or mean squared error for regression.
            metrics: `"auto"` means accuracy, weighted like the loss; none for
                regression.
            **kwargs: See `keras.Model.compile`.
        """
        if optimizer == "auto":
            optimizer = keras.optimizers.AdamW(2e-5)
        if loss == "auto":
            loss = self.default_loss()
        if metrics == "auto":
            metrics = None
            kwargs.setdefault("weighted_metrics", self.default_metrics())
        super().compile(optimizer=optimizer, loss=loss, metrics=metrics, **kwargs)

    def get_config(self):
        return {**super().get_config(), "dropout": self.dropout}
