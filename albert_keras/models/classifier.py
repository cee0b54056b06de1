"""Text classification and regression."""

import keras
import keras_hub

from albert_keras.checks import check_choice
from albert_keras.config import HEAD_DROPOUT
from albert_keras.models.classes import check_labels, is_multi_label
from albert_keras.models.task import FineTuned
from albert_keras.preprocessors import AlbertTextClassifierPreprocessor

# Exported models name their outputs by the activation.
ACTIVATIONS = ("linear", "softmax", "sigmoid")


class PooledClassifier(FineTuned):
    """Mixin of keras-hub's tasks: pooled output, dropout and a dense layer."""

    preprocessor_cls = AlbertTextClassifierPreprocessor
    arguments = ("dropout", "num_classes", "labels")
    metrics_are_weighted = False

    def __init__(
        self,
        backbone,
        num_classes,
        preprocessor=None,
        dropout=HEAD_DROPOUT,
        activation=None,
        labels=None,
        **kwargs,
    ):
        activation = keras.activations.get(activation)
        check_choice("activation", activation.__name__, ACTIVATIONS)
        if num_classes == 1 and activation is keras.activations.softmax:
            raise ValueError(
                "Softmax needs at least 2 classes: the probability of one is always 1. "
                "Received: num_classes=1, activation='softmax'. Use 'sigmoid'."
            )
        labels = check_labels(labels, num_classes)
        # === Layers ===
        self.add_layers(backbone, preprocessor, num_classes, dropout, activation)

        # === Functional Model ===
        pooled_output = backbone(backbone.input)["pooled_output"]
        logits = self.output_dense(self.output_dropout(pooled_output))
        # Set before the base class compiles with the default loss.
        self.num_classes, self.labels = num_classes, labels
        self.activation = activation
        super().__init__(inputs=backbone.input, outputs=logits, **kwargs)

    def export_spec(self):
        is_linear = self.activation is keras.activations.linear
        output_name = "logits" if is_linear else "probabilities"
        if self.num_classes == 1:
            return super().export_spec(kind="regression", output_name=output_name)
        kind = "several_classes" if is_multi_label(self) else "classes"
        names = {"num_classes": self.num_classes, "labels": self.labels}
        return super().export_spec(kind=kind, output_name=output_name, **names)

    def default_loss(self):
        if self.activation is keras.activations.sigmoid:
            return keras.losses.BinaryCrossentropy()
        if self.activation is keras.activations.softmax:
            return keras.losses.SparseCategoricalCrossentropy()
        return super().default_loss()


@keras.saving.register_keras_serializable(package="albert_keras")
class AlbertTextClassifier(PooledClassifier, keras_hub.models.TextClassifier):
    """Text classifier or regression: pooled output, dropout and a dense layer.

    Args:
        backbone: `AlbertBackbone`.
        num_classes: int. 1 means regression (mean squared error).
        preprocessor: `AlbertTextClassifierPreprocessor`, or `None` to feed the
            backbone's input dict.
        dropout: float in [0, 1). Dropout before the dense layer. Default 0.1, as in the
            original and the paper's table 14.
        activation: str, function or `None`. `None` gives logits, `"softmax"`
            probabilities of classes that exclude each other, `"sigmoid"` probabilities
            of classes that may hold together. The default loss and exported models
            follow it.
        labels: list of str or `None`. Names of the classes. `fit` takes them in place of
            numbers; presets, Hugging Face's files and exported models keep them.

    Input shape:
        Strings, or tuples of strings for pairs; without preprocessor the backbone's
        dict.

    Output shape:
        Logits, or their `activation`, `(batch, num_classes)`, float32 under mixed
        precision.

    Example:

    >>> from albert_keras.models import AlbertBackbone
    >>> backbone = AlbertBackbone.from_config_preset("albert_test")
    >>> AlbertTextClassifier(backbone, num_classes=3).output_shape
    (None, 3)

    Reference: google-research/albert classifier_utils.py `create_model`.
    """

    def get_config(self):
        activation = keras.activations.serialize(self.activation)
        return {**super().get_config(), "activation": activation}
