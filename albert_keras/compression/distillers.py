"""Keras models that train a student on its teacher's outputs."""

import keras
from keras import ops

from albert_keras.compression import distillation
from albert_keras.train_step import ExactTrainStep

# Names of outputs that are values of losses.
_SOFT_TARGETS, _HIDDEN_STATES = "soft_targets", "hidden_states"


class OutputLoss(keras.losses.Loss):
    """Mean of an output that is already a loss, without targets."""

    def call(self, y_true, y_pred):
        return y_pred


class Distiller(ExactTrainStep, keras.Model):
    """Base class of models that train a student. Keep the student afterwards.

    The teacher reads each batch once, without dropout and without a gradient. Checkpoints
    include it, so that a resumed run has the same teacher.

    Args:
        student, teacher: Models of the same class and vocabulary on an `AlbertBackbone`,
            which share no layer. The teacher becomes untrainable.
        temperature: float > 0. See `soft_target_loss`.
        label_weight, soft_weight, state_weight: float >= 0. Weights of the losses on
            labels, on the teacher's logits, and on its hidden states.

    Output shape:
        Dict of float32: the student's logits, named `logits_name`, and the values of the
        other two losses: `soft_targets`, for each row of logits, and `hidden_states`,
        `(batch, sequence_length)`.

    Raises:
        ValueError: If the sizes of vocabulary, hidden states or classes differ.
    """

    logits_name = "logits"
    # Defaults of `label_weight`, `soft_weight` and `state_weight`.
    default_weights = (0.5, 0.5, 1.0)

    def __init__(
        self,
        student,
        teacher,
        *,
        temperature=distillation.TEMPERATURE,
        label_weight=None,
        soft_weight=None,
        state_weight=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        _check_equal(student.backbone, teacher.backbone, "vocabulary_size")
        _check_equal(student.backbone, teacher.backbone, "hidden_dim")
        _check_equal(student, teacher, "num_classes")
        teacher.trainable = False
        self.student, self.teacher = student, teacher
        self.student_encoder = student.backbone.with_outputs(hidden_states=True)
        self.teacher_encoder = teacher.backbone.with_outputs(hidden_states=True)
        self.temperature = temperature
        names = self.logits_name, _SOFT_TARGETS, _HIDDEN_STATES
        given = zip(names, (label_weight, soft_weight, state_weight), strict=True)
        self.weight_of_loss = dict(zip(names, self.default_weights, strict=True))
        self.weight_of_loss |= {name: each for name, each in given if each is not None}
        self.built = True

    # === To implement for a kind of model ===

    def logits_of(self, model, encoded, inputs, training):
        """Returns the logits of student or teacher from the outputs of its backbone."""

    def state_loss(self, states, teacher_states):
        """Returns the loss on lists of hidden states, `(batch, sequence_length)`."""

    @staticmethod
    def with_targets(features, labels, weights=None):
        """Returns a batch of the student with the targets and weights of all losses."""

    # === Shared by all kinds ===

    def soft_loss(self, logits, teacher_logits):
        """Returns the loss on the teacher's logits, for each row of them."""
        return distillation.soft_target_loss(logits, teacher_logits, self.temperature)

    @property
    def backbone(self):
        """The student's backbone."""
        return self.student.backbone

    @property
    def trainable_variables(self):
        return self.student.trainable_variables

    trainable_weights = trainable_variables

    def compile(
        self, optimizer="rmsprop", loss=None, *, weighted_metrics=None, **kwargs
    ):
        """Configures the model for training on batches of `with_targets`.

        Args:
            loss, weighted_metrics: For the student's logits, or a dict by name. `"auto"`
                means the student's default loss.
            optimizer, **kwargs: See `ExactTrainStep.compile`.
        """
        loss = self.student.default_loss() if loss == "auto" else loss
        if loss is not None:
            names = _SOFT_TARGETS, _HIDDEN_STATES
            loss = self._by_name(loss) | {n: OutputLoss(name=n) for n in names}
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
    """Trains a student of a fine-tuned classifier or regression.

    It compares hidden states at matched depths, and the outputs of regression by their
    squared difference.

    Args:
        student, teacher: `AlbertTextClassifier` that returns logits. A teacher with exits
            is used at full depth.
        **options: See `Distiller`. The default weights are 0.5 for labels, 0.5 for soft
            targets, and 1 for hidden states.

    Example:

    ```python
    teacher = ak.AlbertTextClassifier.from_preset("runs/sst2/model")
    student = ak.converters.change_architecture(teacher, num_layers=6)
    distiller = TaskDistiller(student, teacher)
    distiller.compile(ak.AdamW(2e-5, global_clipnorm=1.0), "auto")
    distiller.fit(batches.map(distiller.with_targets), shuffle=False)
    ```
    """

    def logits_of(self, model, encoded, inputs, training):
        x = model.output_dropout(encoded["pooled_output"], training=training)
        return model.output_dense(x)

    def soft_loss(self, logits, teacher_logits):
        if self.student.num_classes > 1:
            return super().soft_loss(logits, teacher_logits)
        return ops.square(logits - ops.stop_gradient(teacher_logits))[:, 0]

    def state_loss(self, states, teacher_states):
        return distillation.hidden_state_loss(states, teacher_states)

    @staticmethod
    def with_targets(features, labels, weights=None):
        mask = features["padding_mask"]
        targets = {"logits": labels, _SOFT_TARGETS: labels, _HIDDEN_STATES: mask}
        # 1 for each row, since the first token is real. Sample weights are for the labels
        # only.
        equal = mask[:, 0]
        weights = equal if weights is None else weights
        weights = {"logits": weights, _SOFT_TARGETS: equal, _HIDDEN_STATES: mask}
        return features, targets, weights


class MaskedWordsDistiller(Distiller):
    """Trains a student of a pretrained model, by the three losses of DistilBERT.

    Soft targets are computed for masked words only (`restrict_ce_to_mask` in the
    original), which saves most products with the vocabulary. Hidden states are the last
    ones of all attended tokens.

    Args:
        student, teacher: `AlbertPretrainer`; their pair heads are not used.
        **options: See `Distiller`. The default weights are 2 for masked words, 5 for soft
            targets, and 1 for hidden states.

    Reference: Sanh et al. 2019, DistilBERT; huggingface/transformers-research-projects
    distillation/distiller.py.
    """

    logits_name = "mlm_logits"
    default_weights = (2.0, 5.0, 1.0)

    def logits_of(self, model, encoded, inputs, training):
        x, positions = encoded["sequence_output"], inputs["mask_positions"]
        return model.mlm_head(x, positions, training=training)

    def state_loss(self, states, teacher_states):
        return distillation.cosine_loss(states[-1], teacher_states[-1])

    @staticmethod
    def with_targets(features, labels, weights=None):
        mask = features.get("sequence_ids", features["padding_mask"]) > 0
        words, counted = labels["mlm_logits"], weights["mlm_logits"]
        targets = {"mlm_logits": words, _SOFT_TARGETS: words, _HIDDEN_STATES: mask}
        weights = {"mlm_logits": counted, _SOFT_TARGETS: counted, _HIDDEN_STATES: mask}
        return features, targets, weights


def _check_equal(student, teacher, name):
    values = [getattr(model, name, None) for model in (student, teacher)]
    if values[0] != values[1]:
        raise ValueError(
            f"Student and teacher must have the same `{name}`. "
            f"Received: {name}={values[0]} and {name}={values[1]}."
        )
