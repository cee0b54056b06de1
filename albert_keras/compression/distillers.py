"""Keras models in which a student is trained on the outputs of its teacher."""

import abc

import keras
from keras import ops

from albert_keras.compression.distillation import (
    TEMPERATURE,
    cosine_loss,
    hidden_state_loss,
    soft_target_loss,
)
from albert_keras.train_step import ExactTrainStep

# Names of the outputs that are values of losses.
_SOFT_TARGETS, _HIDDEN_STATES = "soft_targets", "hidden_states"


class OutputLoss(keras.losses.Loss):
    """Mean of an output that is already the value of a loss; targets are not read."""

    def call(self, y_true, y_pred):
        return y_pred


class Distiller(ExactTrainStep, keras.Model, abc.ABC):
    """Base of models for training alone, of which the student is kept.

    The teacher reads each batch once, without dropout and without a gradient. It is part
    of the model's state, and so of checkpoints: a resumed run has the same teacher.

    Args:
        student, teacher: Models of one kind on an `AlbertBackbone`, of one vocabulary,
            which share no layer. The teacher becomes untrainable.
        temperature: float > 0. See `soft_target_loss`.
        label_weight, soft_weight, state_weight: float of at least 0. Weights of the
            losses on labels, on the teacher's logits, and on its hidden states.

    Output shape:
        Dict of float32: the student's logits, named `logits_name`, and the values of the
        other two losses: `soft_targets`, for each row of logits, and `hidden_states`,
        `(batch, sequence_length)`.

    Raises:
        ValueError: If the vocabularies differ in size, or the widths.
    """

    logits_name = "logits"

    def __init__(
        self,
        student,
        teacher,
        *,
        temperature=TEMPERATURE,
        label_weight,
        soft_weight,
        state_weight,
        **kwargs,
    ):
        super().__init__(**kwargs)
        _check_shapes(student.backbone, teacher.backbone)
        teacher.trainable = False
        self.student, self.teacher = student, teacher
        self.student_encoder = student.backbone.with_outputs(hidden_states=True)
        self.teacher_encoder = teacher.backbone.with_outputs(hidden_states=True)
        self.temperature = temperature
        self.weight_of_loss = {
            self.logits_name: label_weight,
            _SOFT_TARGETS: soft_weight,
            _HIDDEN_STATES: state_weight,
        }
        self.built = True

    # === To write for a kind of model ===

    @abc.abstractmethod
    def logits_of(self, model, encoded, inputs, training):
        """Returns the logits of student or teacher from the outputs of its backbone."""

    @abc.abstractmethod
    def state_loss(self, states, teacher_states):
        """Returns the loss on lists of hidden states, `(batch, sequence_length)`."""

    @staticmethod
    @abc.abstractmethod
    def with_targets(features, labels, weights=None):
        """Returns a batch of the student's own with targets and weights of all losses."""

    # === The same for all ===

    def soft_loss(self, logits, teacher_logits):
        """Returns the loss on the teacher's logits, for each row of them."""
        return soft_target_loss(logits, teacher_logits, self.temperature)

    @property
    def backbone(self):
        """That of the student."""
        return self.student.backbone

    @property
    def trainable_variables(self):
        return self.student.trainable_variables

    @property
    def trainable_weights(self):
        return self.student.trainable_weights

    def compile(
        self, optimizer="rmsprop", loss=None, *, weighted_metrics=None, **kwargs
    ):
        """Compiles for training on batches of `with_targets`.

        Args:
            loss, weighted_metrics: Those of the student's logits, maybe in a dict by
                name. `"auto"` means the student's default loss.
            optimizer, **kwargs: See `ExactTrainStep.compile`.
        """
        loss = self.student.default_loss() if loss == "auto" else loss
        if loss is not None:
            of_outputs = {
                name: OutputLoss(name=name) for name in (_SOFT_TARGETS, _HIDDEN_STATES)
            }
            loss = self._by_name(loss) | of_outputs
            kwargs.setdefault("loss_weights", self.weight_of_loss)
        if weighted_metrics:
            weighted_metrics = self._by_name(weighted_metrics)
        super().compile(optimizer, loss, weighted_metrics=weighted_metrics, **kwargs)

    def _by_name(self, values):
        return values if isinstance(values, dict) else {self.logits_name: values}

    def call(self, inputs, training=False):
        encoded = self.student_encoder(inputs, training=training)
        taught = self.teacher_encoder(inputs, training=False)
        logits = self.logits_of(self.student, encoded, inputs, training)
        teacher_logits = self.logits_of(self.teacher, taught, inputs, False)
        states = encoded["hidden_states"], taught["hidden_states"]
        return {
            self.logits_name: logits,
            _SOFT_TARGETS: self.soft_loss(logits, teacher_logits),
            _HIDDEN_STATES: self.state_loss(*states),
        }


class TaskDistiller(Distiller):
    """Student of a fine-tuned classifier, or of one number (regression).

    Hidden states are compared at matched depths, and a regression's numbers by their
    squared difference.

    Args:
        student, teacher: `AlbertTextClassifier` that returns logits. A teacher with
            exits teaches at full depth.
        **options: See `Distiller`. By default labels and soft targets have half the
            weight each, and hidden states 1.

    Example:

    ```python
    teacher = ak.AlbertTextClassifier.from_preset("runs/sst2/model")
    student = ak.change_architecture(teacher, num_layers=6)
    distiller = TaskDistiller(student, teacher)
    distiller.compile(ak.AdamW(2e-5, global_clipnorm=1.0), "auto")
    distiller.fit(batches.map(distiller.with_targets), shuffle=False)
    ```
    """

    def __init__(
        self,
        student,
        teacher,
        *,
        label_weight=0.5,
        soft_weight=0.5,
        state_weight=1.0,
        **options,
    ):
        outputs = student.num_classes, teacher.num_classes
        if outputs[0] != outputs[1]:
            raise ValueError(
                "Student and teacher must have as many classes. Received: "
                f"num_classes={outputs[0]} and num_classes={outputs[1]}."
            )
        super().__init__(
            student,
            teacher,
            label_weight=label_weight,
            soft_weight=soft_weight,
            state_weight=state_weight,
            **options,
        )

    def logits_of(self, model, encoded, inputs, training):
        pooled_output = encoded["pooled_output"]
        return model.output_dense(
            model.output_dropout(pooled_output, training=training)
        )

    def soft_loss(self, logits, teacher_logits):
        if self.student.num_classes > 1:
            return super().soft_loss(logits, teacher_logits)
        return ops.square(logits - ops.stop_gradient(teacher_logits))[:, 0]

    def state_loss(self, states, teacher_states):
        return hidden_state_loss(states, teacher_states)

    @staticmethod
    def with_targets(features, labels, weights=None):
        mask = features["padding_mask"]
        targets = {"logits": labels, _SOFT_TARGETS: labels, _HIDDEN_STATES: mask}
        # 1 for each row, which begins with a real token. Weights of labels are not those
        # of the teacher's answers.
        equal = mask[:, 0]
        weights = equal if weights is None else weights
        weights = {"logits": weights, _SOFT_TARGETS: equal, _HIDDEN_STATES: mask}
        return features, targets, weights


class MaskedWordsDistiller(Distiller):
    """Student of a pretrained model, by the three losses of DistilBERT.

    Soft targets are those of masked words, so that the product with the vocabulary is
    computed for these alone (`restrict_ce_to_mask` in the original), and the last hidden
    states of all attended tokens are compared.

    Args:
        student, teacher: `AlbertPretrainer`; their pair heads are not read.
        **options: See `Distiller`. Weights are 2 for the masked words, 5 for soft
            targets and 1 for hidden states by default.

    Reference: Sanh et al. 2019, DistilBERT; huggingface/transformers-research-projects
    distillation/distiller.py.
    """

    logits_name = "mlm_logits"

    def __init__(
        self,
        student,
        teacher,
        *,
        label_weight=2.0,
        soft_weight=5.0,
        state_weight=1.0,
        **options,
    ):
        super().__init__(
            student,
            teacher,
            label_weight=label_weight,
            soft_weight=soft_weight,
            state_weight=state_weight,
            **options,
        )

    def logits_of(self, model, encoded, inputs, training):
        x, positions = encoded["sequence_output"], inputs["mask_positions"]
        return model.mlm_head(x, positions, training=training)

    def state_loss(self, states, teacher_states):
        return cosine_loss(states[-1], teacher_states[-1])

    @staticmethod
    def with_targets(features, labels, weights=None):
        mask = features.get("sequence_ids", features["padding_mask"]) > 0
        words, counted = labels["mlm_logits"], weights["mlm_logits"]
        targets = {"mlm_logits": words, _SOFT_TARGETS: words, _HIDDEN_STATES: mask}
        weights = {"mlm_logits": counted, _SOFT_TARGETS: counted, _HIDDEN_STATES: mask}
        return features, targets, weights


def _check_shapes(student, teacher):
    if student.vocabulary_size != teacher.vocabulary_size:
        raise ValueError(
            "Student and teacher must have the same vocabulary. Received: "
            f"vocabulary_size={student.vocabulary_size} and "
            f"vocabulary_size={teacher.vocabulary_size}."
        )
    if student.hidden_dim != teacher.hidden_dim:
        raise ValueError(
            "Student and teacher must have hidden states of one width. Received: "
            f"hidden_dim={student.hidden_dim} and hidden_dim={teacher.hidden_dim}."
        )
