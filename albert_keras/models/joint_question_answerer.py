"""Question answering with unanswerable questions, as for SQuAD 2.0."""

import keras
import keras_hub
from keras import ops

from albert_keras.config import HEAD_DROPOUT
from albert_keras.layers import EndLogits, MostProbable, StartLogits, UnanswerableLogit
from albert_keras.models.task import FineTuned
from albert_keras.preprocessors import AlbertJointQuestionAnswererPreprocessor


@keras.saving.register_keras_serializable(package="albert_keras")
class AlbertJointQuestionAnswerer(FineTuned, keras_hub.models.Task):
    """Question answerer for SQuAD 2.0: start, end given the start, and answerability.

    In training the model predicts the end from the true start; `beam_model` returns a
    model that finds both. The default loss is half the sum of the cross-entropies of
    start, end and answerability, as in the original. Labels are a dict of `text` and
    `answer_start`, as in SQuAD. Without preprocessor they are a dict by output: integer
    positions `(batch,)`, 0 without an answer; and for `answerability_logits`, `(batch,)`
    or `(batch, 1)`, 1 without an answer, else 0.

    Args:
        backbone: `AlbertBackbone`.
        preprocessor: `AlbertJointQuestionAnswererPreprocessor`, or `None` to feed
            features.
        dropout: float in [0, 1). Dropout before the last layer of the answerability head.
            Default 0.1, as in the original.

    Input shape:
        Tuple of questions and contexts, strings. Without preprocessor the backbone's
        dict, and two more integer inputs: `answer_mask` `(batch, sequence_length)`, 1
        where an answer may start or end, that is on [CLS] and the context, and 0 on the
        question, [SEP] and padding; and `start_positions` `(batch,)`, the true starts.

    Output shape:
        Dict, float32 under mixed precision: `start_logits` and `end_logits` `(batch,
        sequence_length)`, -1e30 where `answer_mask` is 0; `answerability_logits`
        `(batch, 1)`, positive if there is no answer.

    Example:

    >>> from albert_keras.models import AlbertBackbone
    >>> backbone = AlbertBackbone.from_config_preset("albert_test")
    >>> sorted(AlbertJointQuestionAnswerer(backbone).output)
    ['answerability_logits', 'end_logits', 'start_logits']

    Reference: google-research/albert squad_utils.py `create_v2_model`,
    `v2_model_fn_builder`; after Yang et al. 2019, arXiv 1906.08237 (XLNet).
    """

    preprocessor_cls = AlbertJointQuestionAnswererPreprocessor
    reads_pooled_output = False
    loss_weight = 0.5

    def __init__(self, backbone, preprocessor=None, dropout=HEAD_DROPOUT, **kwargs):
        # === Layers ===
        self.backbone, self.preprocessor, self.dropout = backbone, preprocessor, dropout
        config, dtype = backbone.albert_config, backbone.dtype_policy
        self.start_head = StartLogits(config, dtype=dtype, name="start_logits")
        self.end_head = EndLogits(config, dtype=dtype, name="end_logits")
        self.answerability_head = UnanswerableLogit(
            config, dropout, dtype=dtype, name="answerability_logits"
        )

        # === Functional Model ===
        answer_mask = keras.Input((None,), dtype="int32", name="answer_mask")
        start_positions = keras.Input((), dtype="int32", name="start_positions")
        tokens, outputs = self._encode(answer_mask)
        starts = ops.expand_dims(start_positions, 1)
        outputs["end_logits"] = self.end_head(tokens, starts, answer_mask)[:, 0]
        inputs = {"answer_mask": answer_mask, "start_positions": start_positions}
        super().__init__({**backbone.input, **inputs}, outputs, **kwargs)

    def _encode(self, answer_mask):
        """Returns the outputs of tokens, and the logits that do not depend on a start."""
        tokens = self.backbone(self.backbone.input)["sequence_output"]
        logits = {"start_logits": self.start_head(tokens, answer_mask)}
        probabilities = ops.softmax(logits["start_logits"])
        logits["answerability_logits"] = self.answerability_head(tokens, probabilities)
        return tokens, logits

    def beam_model(self, num_starts=5, num_ends=5):
        """Returns a model of the same layers that finds the most probable spans.

        It finds the most probable starts, and for each start the most probable ends. The
        log-probability of a span is the sum of both. A span may end before it starts. If
        fewer positions are allowed than requested, the rest have a log-probability of
        -1e30.

        Args:
            num_starts: int > 0. Default 5, as in the original.
            num_ends: int > 0. Ends for each start. Default 5, as in the original.

        Returns:
            `keras.Model` from the backbone's dict and `answer_mask` to a dict:
            `start_log_probs`, and int32 `start_positions`, `(batch, num_starts)`;
            `end_log_probs`, and int32 `end_positions`, `(batch, num_starts, num_ends)`;
            most probable first, and fewer for shorter sequences;
            `answerability_logits` `(batch,)`.

        Example:

        >>> from albert_keras.models import AlbertBackbone
        >>> backbone = AlbertBackbone.from_config_preset("albert_test")
        >>> ids = ops.ones((2, 7), dtype="int32")
        >>> names = ("token_ids", "segment_ids", "padding_mask", "answer_mask")
        >>> spans = AlbertJointQuestionAnswerer(backbone).beam_model(num_ends=3)(
        ...     dict.fromkeys(names, ids)
        ... )
        >>> tuple(spans["end_positions"].shape)
        (2, 5, 3)
        """
        answer_mask = self.input["answer_mask"]
        tokens, outputs = self._encode(answer_mask)
        start_log_probs, starts = MostProbable(num_starts)(outputs["start_logits"])
        end_logits = self.end_head(tokens, starts, answer_mask)
        end_log_probs, ends = MostProbable(num_ends)(end_logits)
        return keras.Model(
            inputs={**self.backbone.input, "answer_mask": answer_mask},
            outputs={
                "start_log_probs": start_log_probs,
                "start_positions": starts,
                "end_log_probs": end_log_probs,
                "end_positions": ends,
                "answerability_logits": outputs["answerability_logits"][:, 0],
            },
            name=f"{self.name}_beam",
        )

    def export_spec(self):
        return super().export_spec(kind="questions", beam_model=self.beam_model)

    def default_loss(self):
        answerability = keras.losses.BinaryCrossentropy(from_logits=True)
        return {**super().default_loss(), "answerability_logits": answerability}
