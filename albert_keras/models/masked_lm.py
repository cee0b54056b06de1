"""Masked language model without sentence pairs."""

import keras
import keras_hub

from albert_keras.models.pretrainer import AlbertPretrainer, PretrainingModel
from albert_keras.preprocessors import AlbertMaskedLMPreprocessor


@keras.saving.register_keras_serializable(package="albert_keras")
class AlbertMaskedLM(PretrainingModel, keras_hub.models.MaskedLM):
    """Masked language model: an `AlbertPretrainer` without sentence pairs.

    Its arguments, inputs and output are keras-hub's. `from_preset` also loads the
    masked-token head of an `AlbertPretrainer`.

    Args:
        backbone: `AlbertBackbone`.
        preprocessor: `AlbertMaskedLMPreprocessor`, or `None` to feed features.

    Input shape:
        Strings, or tuples of strings for pairs. The preprocessor masks random tokens,
        for `predict` too; `fill_mask` fills each `[MASK]` of a text. Without preprocessor
        the dict of `AlbertPretrainer`.

    Output shape:
        Logits `(batch, num_predictions, vocabulary_size)`, float32.

    Example:

    >>> from albert_keras.models import AlbertBackbone
    >>> masked_lm = AlbertMaskedLM(AlbertBackbone.from_config_preset("albert_test"))
    >>> masked_lm.output_shape[:2]
    (None, None)

    Reference: Lan et al. 2020, section 3.1.
    """

    preprocessor_cls = AlbertMaskedLMPreprocessor
    also_loads = (AlbertPretrainer,)

    def __init__(self, backbone, preprocessor=None, **kwargs):
        super().__init__(backbone, 0, preprocessor, **kwargs)

    def _select_outputs(self, outputs):
        return outputs["mlm_logits"]

    @classmethod
    def from_preset(cls, preset, load_weights=True, **kwargs):
        """Loads a model, or the masked-token head of an `AlbertPretrainer`.

        Args:
            preset, load_weights, **kwargs: As for other models of this package.
        """
        model = super().from_preset(preset, load_weights, **kwargs)
        if isinstance(model, cls):
            return model
        packs = model.preprocessor and cls.preprocessor_cls(
            model.preprocessor.tokenizer, model.preprocessor.sequence_length
        )
        masked_lm = cls(model.backbone, kwargs.get("preprocessor", packs))
        masked_lm.mlm_head.set_weights(model.mlm_head.get_weights())
        return masked_lm
