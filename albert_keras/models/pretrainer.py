"""Pretraining models: masked tokens, and the order of two segments."""

import keras
import keras_hub

from albert_keras.layers import MaskedLMHead
from albert_keras.layers.configured import dense_layer
from albert_keras.layers.positions import take_tokens
from albert_keras.models.task import TaskModel
from albert_keras.optimizers import make_optimizer
from albert_keras.preprocessors import AlbertPretrainerPreprocessor


class PretrainingModel(TaskModel):
    """Mixin of keras-hub's tasks: a masked-token head and an optional pair head."""

    def __init__(self, backbone, num_pair_classes=2, preprocessor=None, **kwargs):
        # === Layers ===
        self.backbone, self.preprocessor = backbone, preprocessor
        config = backbone.albert_config
        self.mlm_head = MaskedLMHead(
            config, backbone.token_embedding, dtype=backbone.dtype_policy, name="mlm"
        )
        self.pair_head = None
        if num_pair_classes:
            self.pair_head = dense_layer(
                config, num_pair_classes, backbone.variable_dtype, "sop"
            )

        # === Functional Model ===
        mask_positions = keras.Input((None,), dtype="int32", name="mask_positions")
        encoded = backbone(backbone.input)
        x = encoded["sequence_output"]
        outputs = {"mlm_logits": self.mlm_head(x, mask_positions)}
        if self.pair_head is not None:
            outputs["sop_logits"] = self.pair_head(encoded["pooled_output"])
        super().__init__(
            inputs={**backbone.input, "mask_positions": mask_positions},
            outputs=self._select_outputs(outputs),
            **kwargs,
        )

        # === Config ===
        self.num_pair_classes = num_pair_classes

    def _select_outputs(self, outputs):
        """Returns the model's outputs, from a dict of all outputs."""
        return outputs

    # Packed rows have other inputs than the functional graph, but use the same layers.
    # A saved model does not depend on whether it was trained on packed rows.

    def call(self, inputs, training=None, mask=None):
        if not self._are_packed(inputs):
            return super().call(inputs, training=training, mask=mask)
        # (batch, sequence_length, hidden_dim)
        x = self.backbone.encode_packed(inputs, training=training)
        positions = inputs["mask_positions"]
        outputs = {"mlm_logits": self.mlm_head(x, positions, training=training)}
        if self.pair_head is not None:
            # (batch, max_pairs, hidden_dim)
            first_tokens = take_tokens(x, inputs["pair_positions"])
            outputs["sop_logits"] = self.pair_head(self.backbone.pooler(first_tokens))
        return self._select_outputs(outputs)

    def compute_output_spec(self, inputs, training=None, mask=None):
        if not self._are_packed(inputs):
            return super().compute_output_spec(inputs, training=training, mask=mask)
        return keras.Operation.compute_output_spec(self, inputs, training=training)

    def _are_packed(self, inputs):
        names = set(inputs) if isinstance(inputs, dict) else set()
        has_examples, has_pairs = "sequence_ids" in names, "pair_positions" in names
        if has_examples != has_pairs and (has_pairs or self.pair_head is not None):
            raise ValueError(
                "Packed rows must come with pair_positions and sequence_ids. "
                f"Received: features {', '.join(sorted(names))}."
            )
        return has_examples

    def export_spec(self):
        return super().export_spec(kind="masked_words")

    @property
    def reads_pooled_output(self):
        return self.pair_head is not None

    def default_optimizer(self):
        return make_optimizer(1e-4)


@keras.saving.register_keras_serializable(package="albert_keras")
class AlbertPretrainer(PretrainingModel, keras_hub.models.Task):
    """Masked language model and sentence-pair classifier on one backbone.

    Args:
        backbone: `AlbertBackbone`.
        num_pair_classes: int. Classes of the sentence-pair head, see
            `pretraining.PAIR_CLASSES`. Default 2: in order or swapped (SOP), or another
            objective with two classes. With 0 there is no such head, and the backbone's
            pooler is not trained.
        preprocessor: `AlbertPretrainerPreprocessor`, or `None` to feed features.

    Input shape:
        Tuple of first and second segments, strings, which are masked and swapped at
        random in each epoch; single texts if `num_pair_classes=0`. Without preprocessor
        the backbone's dict, and `mask_positions`, integers `(batch, num_predictions)`.

        A packed row holds several examples, which train as if each had its own row. It
        has two more features: `sequence_ids` `(batch, sequence_length)`, 1 for the
        tokens of the row's first example, 2 for the second, and so on, 0 for padding;
        and for the pair head `pair_positions` `(batch, max_pairs)`, the first position
        of each example, 0 where unused. `padding_mask` is not read then.

    Output shape:
        Dict of float32: `mlm_logits` `(batch, num_predictions, vocabulary_size)`, and
        `sop_logits` `(batch, num_pair_classes)`, or `(batch, max_pairs,
        num_pair_classes)` for packed rows. `sop_logits[..., 1]` is the logit of
        "swapped".

    Raises:
        ValueError: If only one of the two features of packed rows is given, or a model
            with a pair head gets single texts.

    Example:

    >>> from albert_keras.models import AlbertBackbone
    >>> pretrainer = AlbertPretrainer(AlbertBackbone.from_config_preset("albert_test"))
    >>> sorted(pretrainer.output)
    ['mlm_logits', 'sop_logits']

    Reference: Lan et al. 2020, section 3.1; google-research/albert run_pretraining.py.
    As in that code, and unlike in Hugging Face's, the pair head has no dropout.
    """

    preprocessor_cls = AlbertPretrainerPreprocessor
    arguments = ("num_pair_classes",)

    def preprocess_samples(self, x, y=None, sample_weight=None):
        if self.num_pair_classes and not isinstance(x, tuple | dict):
            raise ValueError(
                "`x` must be a tuple of first and second segments, or texts if "
                f"num_pair_classes=0. Received: x of type {type(x).__name__}, and "
                f"num_pair_classes={self.num_pair_classes}."
            )
        return super().preprocess_samples(x, y, sample_weight)

    def default_metrics(self, loss):
        return None
