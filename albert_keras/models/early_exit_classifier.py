"""Text classification and regression with an exit after every layer."""

import dataclasses

import keras
import keras_hub
import numpy as np
from keras import ops

from albert_keras.config import HEAD_DROPOUT
from albert_keras.layers import ExitHeads
from albert_keras.models.classifier import AlbertTextClassifier, PooledClassifier


@keras.saving.register_keras_serializable(package="albert_keras")
class AlbertEarlyExitClassifier(PooledClassifier, keras_hub.models.Task):
    """Text classifier with an exit head after every layer, and one shared pooler.

    At full depth it equals `AlbertTextClassifier`: the same layers, outputs, labels and
    metrics. In training it returns the logits of all depths, `(batch, num_layers,
    num_classes)`, and the loss is the mean of their losses, weighted by depth (1, 2, 3,
    ...). `compression.EarlyExit` stops early, by a rule that `compression.calibrate`
    finds.

    Args:
        backbone: `AlbertBackbone` of at least 2 layers, shared or not.
        num_classes: int. 1 means regression (mean squared error).
        preprocessor: As for `AlbertTextClassifier`.
        dropout: float in [0, 1). Dropout before the heads. Default 0.1, as for
            `AlbertTextClassifier`.
        labels: list of str or `None`. Names of the classes.
        exit_rule: dict or `None`. The calibrated rule, the fields of
            `compression.ExitRule`. Presets keep it.

    Input shape:
        As `AlbertTextClassifier`.

    Output shape:
        Logits of the last layer `(batch, num_classes)`, float32 under mixed precision.

    Raises:
        ValueError: If the backbone has one layer, or `num_classes` is less than 1.

    Example:

    >>> from albert_keras.models import AlbertBackbone
    >>> backbone = AlbertBackbone.from_config_preset("albert_test", num_layers=3)
    >>> model = AlbertEarlyExitClassifier(backbone, num_classes=5)
    >>> ids = ops.ones((2, 7), dtype="int32")
    >>> features = {"token_ids": ids, "segment_ids": ids * 0, "padding_mask": ids}
    >>> tuple(model.exit_logits(features).shape)
    (2, 3, 5)

    Reference: Zhou et al. 2020, BERT loses patience, arXiv 2006.04152, section 3.3;
    JetRunner/PABEE modeling_albert.py.
    """

    arguments = (*PooledClassifier.arguments, "exit_rule")

    def __init__(
        self,
        backbone,
        num_classes,
        preprocessor=None,
        dropout=HEAD_DROPOUT,
        labels=None,
        exit_rule=None,
        **kwargs,
    ):
        if backbone.num_layers < 2:
            raise ValueError(
                f"Exits need 2 layers. Received: num_layers={backbone.num_layers}."
            )
        options = preprocessor, dropout, None, labels
        super().__init__(backbone, num_classes, *options, **kwargs)
        self.exit_rule = exit_rule

    def add_layers(self, backbone, preprocessor, num_outputs, dropout, activation):
        super().add_layers(backbone, preprocessor, num_outputs, dropout, activation)
        config = backbone.albert_config
        self.exit_heads = ExitHeads(
            config, num_outputs, dtype=backbone.variable_dtype, name="exits"
        )
        self.exit_heads.build((None, config.num_layers - 1, config.hidden_dim))

    def export_spec(self):
        return dataclasses.replace(super().export_spec(), has_exits=True)

    @classmethod
    def from_classifier(cls, classifier):
        """Returns a model that adds exits to a trained classifier.

        Both share the backbone. It is frozen, and so is the head of the last layer; the
        other heads start as copies of that head. To train all jointly, set `trainable =
        True` on `backbone` and `output_dense`.

        Args:
            classifier: `AlbertTextClassifier` of logits.

        Reference: Xin et al. 2020, DeeBERT, arXiv 2004.12993, section 2.2.
        """
        model = cls(classifier.backbone, **_options_of(classifier))
        model.take_over_head(classifier)
        return model

    def to_classifier(self):
        """Returns the full-depth `AlbertTextClassifier`, for formats without exits.

        Both share the backbone; the head is a copy.

        Example:

        ```python
        classifier = ak.load_run("runs/exits").model.to_classifier()
        ak.save_checkpoint(classifier, "exits_hf", "huggingface")
        ```
        """
        classifier = AlbertTextClassifier(self.backbone, **_options_of(self))
        classifier.output_dense.set_weights(self.output_dense.get_weights())
        return classifier

    def take_over_head(self, classifier):
        """Copies a classifier's head to all exits, and freezes backbone and last head."""
        if classifier.activation is not keras.activations.linear:
            raise ValueError(
                "Exits are added to a classifier that gives logits. Received: "
                f"activation={classifier.activation.__name__}."
            )
        head = classifier.output_dense.get_weights()
        self.output_dense.set_weights(head)
        pairs = zip(head, self.exit_heads.weights, strict=True)
        copies = [np.broadcast_to(value, variable.shape) for value, variable in pairs]
        self.exit_heads.set_weights(copies)
        self.backbone.trainable = self.output_dense.trainable = False

    def exit_logits(self, inputs, training=False):
        """Returns the logits of all depths, `(batch, num_layers, num_classes)`.

        Args:
            inputs: The backbone's dict.
            training: bool.
        """
        pooled = self.backbone.pool_every_layer(inputs, training=training)
        pooled = self.output_dropout(pooled, training=training)
        exits = self.exit_heads(pooled[:, :-1])
        return ops.concatenate([exits, self.output_dense(pooled[:, -1:])], axis=1)

    def exit_weights(self):
        """Returns the kernels `(num_layers, hidden_dim, num_classes)` and biases."""
        last = self.output_dense
        return (
            ops.concatenate([self.exit_heads.kernel, last.kernel[None]]),
            ops.concatenate([self.exit_heads.bias, last.bias[None]]),
        )

    def call(self, inputs, training=False, mask=None):
        if training:
            return self.exit_logits(inputs, training=True)
        return super().call(inputs, training=False, mask=mask)

    def compute_loss(
        self, x=None, y=None, y_pred=None, sample_weight=None, training=True
    ):
        """Returns the loss; for logits of all depths, the mean weighted by depth."""
        if y_pred.ndim == 2:
            return super().compute_loss(x, y, y_pred, sample_weight, training)
        losses = [
            super(AlbertEarlyExitClassifier, self).compute_loss(
                x, y, logits, sample_weight, training
            )
            for logits in ops.unstack(y_pred, axis=1)
        ]
        weighted = sum(depth * loss for depth, loss in enumerate(losses, start=1))
        return weighted / sum(range(1, len(losses) + 1))

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        """Returns the metrics of the last depth."""
        last = y_pred if y_pred.ndim == 2 else y_pred[:, -1]
        return super().compute_metrics(x, y, last, sample_weight)


def _options_of(classifier):
    """Returns the arguments that classifiers with and without exits share."""
    names = ("num_classes", "preprocessor", "dropout", "labels")
    return {name: getattr(classifier, name) for name in names}
