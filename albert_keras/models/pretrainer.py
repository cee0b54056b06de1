"""The pretraining model: masked pieces, and the order of two segments."""

import keras
import keras_hub

from albert_keras.layers import MaskedLMHead
from albert_keras.layers.configured import truncated_normal
from albert_keras.models.backbone import AlbertBackbone
from albert_keras.models.task import SavedWithDefaults


@keras.saving.register_keras_serializable(package="albert_keras")
class AlbertPretrainer(SavedWithDefaults, keras_hub.models.Task):
    """Masked language model and sentence-pair classifier on one backbone.

    Args:
        backbone: `AlbertBackbone`.
        num_pair_classes: int. Classes of the sentence-pair head. Default 2: in order,
            swapped (SOP), or next, random (NSP). 0 leaves the head out, and the
            backbone's pooler untrained.

    Input shape:
        The backbone's dict, and `mask_positions`, integers, `(batch,
        num_predictions)`.

    Output shape:
        Dict of float32: `mlm_logits` `(batch, num_predictions, vocabulary_size)` and
        `sop_logits` `(batch, num_pair_classes)`; `sop_logits[:, 1]` is the logit of
        "swapped".

    Example:

    >>> pretrainer = AlbertPretrainer(AlbertBackbone.from_config_preset("albert_test"))
    >>> sorted(pretrainer.output)
    ['mlm_logits', 'sop_logits']

    Reference: Lan et al. 2020, section 3.1; google-research/albert run_pretraining.py.
    As there, and unlike Hugging Face, no dropout stands before the pair head.
    """

    backbone_cls = AlbertBackbone

    def __init__(self, backbone, num_pair_classes=2, preprocessor=None, **kwargs):
        # === Layers ===
        self.backbone = backbone
        self.preprocessor = preprocessor
        config = backbone.albert_config
        self.mlm_head = MaskedLMHead(
            config, backbone.token_embedding, dtype=backbone.dtype_policy, name="mlm"
        )
        self.pair_head = None
        if num_pair_classes:
            self.pair_head = keras.layers.Dense(
                num_pair_classes,
                kernel_initializer=truncated_normal(config),
                dtype=backbone.variable_dtype,
                name="sop",
            )

        # === Functional Model ===
        mask_positions = keras.Input((None,), dtype="int32", name="mask_positions")
        encoded = backbone(backbone.input)
        outputs = {
            "mlm_logits": self.mlm_head(encoded["sequence_output"], mask_positions)
        }
        if self.pair_head is not None:
            outputs["sop_logits"] = self.pair_head(encoded["pooled_output"])
        super().__init__(
            inputs={**backbone.input, "mask_positions": mask_positions},
            outputs=outputs,
            **kwargs,
        )

        # === Config ===
        self.num_pair_classes = num_pair_classes

    # Without a pair head nothing reads the pooled output: training must not expect a
    # gradient of the pooler, which stays what it was.

    @property
    def trainable_variables(self):
        return self._without_idle_pooler(super().trainable_variables)

    @property
    def trainable_weights(self):
        return self._without_idle_pooler(super().trainable_weights)

    def _without_idle_pooler(self, variables):
        if self.pair_head is not None:
            return variables
        idle = {id(variable) for variable in self.backbone.pooler.weights}
        return [variable for variable in variables if id(variable) not in idle]

    def get_config(self):
        return {**super().get_config(), "num_pair_classes": self.num_pair_classes}

    def compile(self, optimizer="auto", loss="auto", **kwargs):
        """Compiles for training; the defaults suit a first run on one device.

        Args:
            optimizer: Keras optimizer; `"auto"` means Adam at 1e-4.
            loss: Losses by output; `"auto"` means the mean cross-entropy of the masked
                pieces plus that of the pairs, weighted 1 : 1 as the original.
            **kwargs: See `keras.Model.compile`.
        """
        if optimizer == "auto":
            optimizer = keras.optimizers.Adam(1e-4)
        if loss == "auto":
            loss = {
                name: keras.losses.SparseCategoricalCrossentropy(
                    from_logits=True, reduction="mean_with_sample_weight"
                )
                for name in self.output
            }
        super().compile(optimizer=optimizer, loss=loss, **kwargs)
