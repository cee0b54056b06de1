"""Extractive question answering, as for SQuAD 1.1."""

import keras
import keras_hub

from albert_keras.models.task import FineTuned
from albert_keras.preprocessors import AlbertQuestionAnswererPreprocessor


@keras.saving.register_keras_serializable(package="albert_keras")
class AlbertQuestionAnswerer(FineTuned, keras_hub.models.Task):
    """Question answerer: logits of an answer's first and last token, by a dense layer.

    The default loss is the mean of the cross-entropies of both positions, as in the
    original. Labels are a dict of `text` and `answer_start`, as in SQuAD; without
    preprocessor a dict of integers `(batch,)` by output.

    Args:
        backbone: `AlbertBackbone`.
        preprocessor: `AlbertQuestionAnswererPreprocessor`, or `None` to feed features.
        dropout: float in [0, 1). Dropout before the dense layer. Default 0, as in the
            original and transformers.

    Input shape:
        Tuple of questions and contexts, strings; without preprocessor the backbone's
        dict.

    Output shape:
        Dict of logits `(batch, sequence_length)`, float32 under mixed precision:
        `start_logits`, `end_logits`.

    Example:

    >>> from albert_keras.models import AlbertBackbone
    >>> backbone = AlbertBackbone.from_config_preset("albert_test")
    >>> sorted(AlbertQuestionAnswerer(backbone).output)
    ['end_logits', 'start_logits']

    Reference: google-research/albert squad_utils.py `create_v1_model`; transformers
    `AlbertForQuestionAnswering`.
    """

    preprocessor_cls = AlbertQuestionAnswererPreprocessor
    reads_pooled_output = False
    loss_weight = 0.5

    def __init__(self, backbone, preprocessor=None, dropout=0.0, **kwargs):
        # === Layers ===
        self.add_layers(backbone, preprocessor, 2, dropout)

        # === Functional Model ===
        tokens = backbone(backbone.input)["sequence_output"]
        logits = self.output_dense(self.output_dropout(tokens))
        outputs = {"start_logits": logits[..., 0], "end_logits": logits[..., 1]}
        super().__init__(inputs=backbone.input, outputs=outputs, **kwargs)

    def export_spec(self):
        return super().export_spec(kind="questions")
