"""Extractive question answering: the start and the end of an answer in a text."""

import keras
import keras_hub

from albert_keras.models.backbone import AlbertBackbone
from albert_keras.models.dense_output import DenseOutput


@keras.saving.register_keras_serializable(package="albert_keras")
class AlbertQuestionAnswerer(DenseOutput, keras_hub.models.Task):
    """A dense layer on each token's output: logits of the first and of the last token.

    The default loss is the mean of the cross-entropies of both positions, as the
    original's; labels are a dict of integers `(batch,)` by output.

    Args:
        backbone: `AlbertBackbone`.
        dropout: float in [0, 1). Dropout before the dense layer. Default 0.0, as the
            original and transformers.

    Input shape:
        The backbone's dict.

    Output shape:
        Dict of logits `(batch, sequence_length)`, float32 under mixed precision:
        `start_logits`, `end_logits`.

    Example:

    >>> backbone = AlbertBackbone.from_config_preset("albert_test")
    >>> sorted(AlbertQuestionAnswerer(backbone).output)
    ['end_logits', 'start_logits']

    Reference: google-research/albert squad_utils.py `create_v1_model`; transformers
    `AlbertForQuestionAnswering`.
    """

    backbone_cls = AlbertBackbone
    reads_pooled_output = False

    def __init__(self, backbone, preprocessor=None, dropout=0.0, **kwargs):
        # === Layers ===
        self.backbone = backbone
        self.preprocessor = preprocessor
        self.add_output_layers(backbone, 2, dropout)

        # === Functional Model ===
        tokens = backbone(backbone.input)["sequence_output"]
        logits = self.output_dense(self.output_dropout(tokens))
        outputs = {"start_logits": logits[..., 0], "end_logits": logits[..., 1]}
        super().__init__(inputs=backbone.input, outputs=outputs, **kwargs)

    def default_loss(self):
        make_loss = super().default_loss
        return {name: make_loss() for name in self.output}

    def default_loss_weights(self):
        return dict.fromkeys(self.output, 0.5)

    def default_metrics(self):
        make_metrics = super().default_metrics
        return {name: make_metrics() for name in self.output}
