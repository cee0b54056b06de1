"""Token classifier, for tagging."""

import keras
import keras_hub

from albert_keras.config import HEAD_DROPOUT
from albert_keras.models.classes import check_labels
from albert_keras.models.task import FineTuned
from albert_keras.preprocessors import AlbertTokenClassifierPreprocessor


@keras.saving.register_keras_serializable(package="albert_keras")
class AlbertTokenClassifier(FineTuned, keras_hub.models.Task):
    """Token classifier: dropout and a dense layer on each token's output.

    Labels are the classes of words; the preprocessor assigns them to tokens. Without it
    labels are integers `(batch, sequence_length)`, and sample weights of that shape are
    1 on the labelled tokens, such as the first of each word, and 0 elsewhere.

    Args:
        backbone: `AlbertBackbone`.
        num_classes: int.
        preprocessor: `AlbertTokenClassifierPreprocessor`, or `None` to feed features.
        dropout: float in [0, 1). Dropout before the dense layer. Default 0.1, as for
            `AlbertTextClassifier`.
        labels: list of str or `None`. Names of the classes, as for
            `AlbertTextClassifier`.

    Input shape:
        Sentences, lists of words; without preprocessor the backbone's dict.

    Output shape:
        Logits `(batch, sequence_length, num_classes)`, float32 under mixed precision.

    Example:

    >>> from albert_keras.models import AlbertBackbone
    >>> backbone = AlbertBackbone.from_config_preset("albert_test")
    >>> AlbertTokenClassifier(backbone, num_classes=7).output_shape
    (None, None, 7)

    Reference: transformers `AlbertForTokenClassification`.
    """

    preprocessor_cls = AlbertTokenClassifierPreprocessor
    arguments = ("dropout", "num_classes", "labels")
    reads_pooled_output = False

    def __init__(
        self,
        backbone,
        num_classes,
        preprocessor=None,
        dropout=HEAD_DROPOUT,
        labels=None,
        **kwargs,
    ):
        labels = check_labels(labels, num_classes)
        # === Layers ===
        self.add_layers(backbone, preprocessor, num_classes, dropout)

        # === Functional Model ===
        tokens = backbone(backbone.input)["sequence_output"]
        logits = self.output_dense(self.output_dropout(tokens))
        self.num_classes, self.labels = num_classes, labels
        super().__init__(inputs=backbone.input, outputs=logits, **kwargs)

    def export_spec(self):
        facts = {"num_classes": self.num_classes, "labels": self.labels}
        return super().export_spec(kind="tagging", **facts)
