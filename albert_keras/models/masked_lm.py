"""Masked language model without sentence pairs."""

import keras
import keras_hub

from albert_keras.models.pretrainer import AlbertPretrainer, PretrainingModel
from albert_keras.preprocessors import AlbertMaskedLMPreprocessor
from albert_keras.presets.hub import check_preset
from albert_keras.presets.preset_files import registered_class
from albert_keras.tokenizers.loading import find_tokenizer


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
        masked_lm = cls(model.backbone, kwargs.get("preprocessor"))
        masked_lm.mlm_head.set_weights(model.mlm_head.get_weights())
        if "preprocessor" not in kwargs:
            folder, given = check_preset(preset), kwargs.get("tokenizer")
            size = model.backbone.vocabulary_size
            masked_lm.add_tokenizer(find_tokenizer(folder, given, size), folder)
        return masked_lm

    @classmethod
    def from_own_preset(cls, folder, load_weights, **kwargs):
        """Loads the model of a preset, which may be an `AlbertPretrainer`."""
        saved = registered_class(folder, "task.json")
        if saved is not None and issubclass(saved, AlbertPretrainer):
            return saved.from_own_preset(folder, load_weights, **kwargs)
        return super().from_own_preset(folder, load_weights, **kwargs)
