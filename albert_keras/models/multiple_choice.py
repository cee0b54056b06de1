"""Multiple-choice model, as for RACE."""

import keras
import keras_hub

from albert_keras.config import HEAD_DROPOUT
from albert_keras.layers import ChoicesToRows, RowsToChoices
from albert_keras.models.task import FineTuned
from albert_keras.preprocessors import AlbertMultipleChoicePreprocessor


@keras.saving.register_keras_serializable(package="albert_keras")
class AlbertMultipleChoice(FineTuned, keras_hub.models.Task):
    """Multiple-choice model: pooled output, dropout and a dense layer for each choice.

    Labels are the integer positions of the correct choices, `(batch,)`.

    Args:
        backbone: `AlbertBackbone`.
        preprocessor: `AlbertMultipleChoicePreprocessor`, or `None` to feed features.
        dropout: float in [0, 1). Dropout before the dense layer. Default 0.1, as in the
            original and the paper's table 14 for RACE.

    Input shape:
        Tuple of contexts and choices, or of contexts, questions and choices: strings
        `(batch,)`, and choices `(batch, num_choices)`. Without preprocessor the
        backbone's dict with an axis for the choices: `(batch, num_choices,
        sequence_length)`.

    Output shape:
        Logits `(batch, num_choices)`, float32 under mixed precision.

    Example:

    >>> from albert_keras.models import AlbertBackbone
    >>> backbone = AlbertBackbone.from_config_preset("albert_test")
    >>> AlbertMultipleChoice(backbone).output_shape
    (None, None)

    Reference: google-research/albert race_utils.py `create_model`; transformers
    `AlbertForMultipleChoice`.
    """

    preprocessor_cls = AlbertMultipleChoicePreprocessor
    metrics_are_weighted = False

    def __init__(self, backbone, preprocessor=None, dropout=HEAD_DROPOUT, **kwargs):
        # === Layers ===
        self.add_layers(backbone, preprocessor, 1, dropout)

        # === Functional Model ===
        inputs = {
            name: keras.Input((None, None), dtype=feature.dtype, name=name)
            for name, feature in backbone.input.items()
        }
        rows = {name: ChoicesToRows()(feature) for name, feature in inputs.items()}
        pooled_output = backbone(rows)["pooled_output"]
        scores = self.output_dense(self.output_dropout(pooled_output))
        logits = RowsToChoices()(scores, inputs["token_ids"])
        super().__init__(inputs=inputs, outputs=logits, **kwargs)

    def export_spec(self):
        return super().export_spec(kind="choices")
