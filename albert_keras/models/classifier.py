"""Text classification and regression."""

import keras
import keras_hub

from albert_keras.layers.configured import truncated_normal
from albert_keras.layers.seeds import Dropout
from albert_keras.models.backbone import AlbertBackbone
from albert_keras.models.task import SavedWithDefaults
from albert_keras.train_step import ExactTrainStep


@keras.saving.register_keras_serializable(package="albert_keras")
class AlbertTextClassifier(
    SavedWithDefaults, ExactTrainStep, keras_hub.models.TextClassifier
):
    """Pooled output, dropout and a dense layer; fits and predicts on raw strings.

    Args:
        backbone: `AlbertBackbone`.
        num_classes: int. Classes; 1 means regression (mean squared error).
        preprocessor: `keras_hub.models.TextClassifierPreprocessor` on one of our
            tokenizers, or `None` to feed the backbone's input dict.
        dropout: float in [0, 1). Dropout before the dense layer. Default 0.1, as the
            original has it hard-coded and the paper's table 14.

    Input shape:
        Strings, or tuples of strings for pairs; without preprocessor the backbone's
        dict.

    Output shape:
        Logits `(batch, num_classes)`, float32 under mixed precision.

    Example:

    >>> backbone = AlbertBackbone.from_config_preset("albert_test")
    >>> AlbertTextClassifier(backbone, num_classes=3).output_shape
    (None, 3)

    Reference: google-research/albert classifier_utils.py `create_model`.
    """

    backbone_cls = AlbertBackbone
    preprocessor_cls = keras_hub.models.TextClassifierPreprocessor

    def __init__(self, backbone, num_classes, preprocessor=None, dropout=0.1, **kwargs):
        if num_classes < 1:
            raise ValueError(
                "`num_classes` must be at least 1 (1 is regression). "
                f"Received: num_classes={num_classes}."
            )
        # === Layers ===
        self.backbone = backbone
        self.preprocessor = preprocessor
        self.output_dropout = Dropout(
            dropout, dtype=backbone.dtype_policy, name="output_dropout"
        )
        self.output_dense = keras.layers.Dense(
            num_classes,
            kernel_initializer=truncated_normal(backbone.albert_config),
            dtype=backbone.variable_dtype,
            name="logits",
        )

        # === Functional Model ===
        pooled_output = backbone(backbone.input)["pooled_output"]
        logits = self.output_dense(self.output_dropout(pooled_output))
        # Known before the base class compiles with the default loss.
        self.num_classes = num_classes
        super().__init__(inputs=backbone.input, outputs=logits, **kwargs)

        # === Config ===
        self.dropout = dropout

    def get_config(self):
        return {
            **super().get_config(),
            "num_classes": self.num_classes,
            "dropout": self.dropout,
        }

    def compile(self, optimizer="auto", loss="auto", *, metrics="auto", **kwargs):
        """Compiles for training; the defaults suit a first run on one device.

        Args:
            optimizer: Keras optimizer; `"auto"` means AdamW at 2e-5, a middle value of
                the paper's table 14.
            loss: `"auto"` means cross-entropy, or mean squared error for regression.
            metrics: `"auto"` means accuracy; none for regression.
            **kwargs: See `keras.Model.compile`.
        """
        regression = self.num_classes == 1
        if optimizer == "auto":
            optimizer = keras.optimizers.AdamW(2e-5)
        if loss == "auto":
            loss = (
                keras.losses.MeanSquaredError()
                if regression
                else keras.losses.SparseCategoricalCrossentropy(from_logits=True)
            )
        if metrics == "auto":
            metrics = (
                []
                if regression
                else [keras.metrics.SparseCategoricalAccuracy(name="accuracy")]
            )
        super().compile(optimizer=optimizer, loss=loss, metrics=metrics, **kwargs)
