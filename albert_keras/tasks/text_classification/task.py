"""Classification and regression of texts and pairs of texts."""

import collections
import dataclasses
import math
from typing import ClassVar

import numpy as np

from albert_keras.checks import is_number, shown
from albert_keras.options import Range, option
from albert_keras.tasks.metrics import (
    classification_report,
    count_ties,
    entropy,
    label_ids,
    log_probabilities,
    majority_accuracy,
    predicted_classes,
    score,
)
from albert_keras.tasks.text_classification.base import TextTask
from albert_keras.tasks.text_classification.glue_predictions import (
    write_glue_predictions,
)
from albert_keras.tasks.text_classification.reading import (
    describe_labels,
    each_label,
    label_numbers,
)


@dataclasses.dataclass(frozen=True)
class TextClassificationTask(TextTask):
    """One label for one text or a pair of texts.

    Args:
        labels: Tuple of label names in the order of the logits. Default None: the labels
            of the training file, sorted.
        class_weights: Dict from a label to its weight in the loss, or `"balanced"` for
            weights inversely proportional to the labels' frequencies. Default None.
        label_smoothing: float in [0, 1). Default 0.
        **: The arguments of `TextTask`.
    """

    metrics_reported: tuple = ("accuracy", "macro_f1")
    labels: tuple | None = None
    class_weights: dict | str | None = option(
        "weights of labels in the loss, LABEL=WEIGHT, or `balanced` (default: equal)",
        None,
    )
    label_smoothing: float = option(
        "probability taken from the target label", 0.0, Range(0, below=1)
    )

    facts: ClassVar[tuple] = ("labels",)
    activation: ClassVar[str | None] = None

    def __post_init__(self):
        super().__post_init__()
        if isinstance(self.class_weights, dict):
            for label, weight in self.class_weights.items():
                if not (is_number(weight) and 0 <= weight < math.inf):
                    raise ValueError(
                        "Class weights must be finite and not negative. "
                        f"Received: {shown(label)}={shown(weight)}."
                    )

    def for_run(self, rows, tokenizer, labels=None):
        given = self.labels if labels is None else labels
        labels = tuple(sorted(set(each_label(rows.labels))) if given is None else given)
        if len(labels) == 1:
            raise ValueError(
                "Classification needs at least two labels. "
                f"Received: labels={', '.join(labels)}."
            )
        return dataclasses.replace(self, labels=labels, tokenizer=tokenizer)

    def label_arrays(self, rows, training):
        targets = self.targets(rows)
        if not (training and self.class_weights):
            return {"labels": targets}
        weights = self._class_weights(rows)[targets]
        return {"labels": targets, "label_weights": weights}

    def notes(self, prepared):
        labels = each_label(prepared.rows.labels or [])
        return [*(describe_labels(labels) if labels else []), *super().notes(prepared)]

    def build_model(self, backbone):
        options = {"activation": self.activation} if self.activation else {}
        return self.new_model(backbone, len(self.labels), labels=self.labels, **options)

    def losses(self):
        from albert_keras.train_step import SmoothedCrossentropy

        if self.label_smoothing:
            return SmoothedCrossentropy(self.label_smoothing)
        return "auto"

    def predict(self, model, prepared, batch_size):
        """Returns the outputs; of softmax probabilities the logarithms, as logits."""
        outputs = super().predict(model, prepared, batch_size)
        activation = getattr(model, "activation", None)
        is_softmax = getattr(activation, "__name__", None) == "softmax"
        return log_probabilities(outputs) if is_softmax else outputs

    def score(self, prepared, predictions):
        """Returns the task's metrics of logits, their `loss` and `num_examples`.

        Also `majority_accuracy` (of always predicting the most frequent label),
        `num_predicted_labels` (different ones) and `num_ties`, which are decided for the
        first label.
        """
        targets = self.targets(prepared.rows)
        return {
            **score(self.metrics_reported, targets, predictions),
            "loss": _loss(targets, predictions),
            "num_examples": len(targets),
            "majority_accuracy": majority_accuracy(targets),
            "num_predicted_labels": len(np.unique(predicted_classes(predictions))),
            "num_ties": count_ties(predictions),
        }

    def described(self, predictions):
        """Returns `label`, `probabilities` by label, and `logits` of each row."""
        from scipy.special import softmax

        return {
            "label": self._labels_of(predictions),
            "probabilities": self.by_label(softmax(predictions, axis=-1)),
            "logits": predictions.tolist(),
        }

    def by_label(self, probabilities):
        """Returns probabilities `(num_rows, num_classes)` as a dict by label a row."""
        return [
            dict(zip(self.labels, row, strict=True)) for row in probabilities.tolist()
        ]

    def write_submission(self, path, prepared, predictions):
        """Writes predictions in the format of GLUE's server, to a file like `RTE.tsv`."""
        write_glue_predictions(path, self._labels_of(predictions))

    def report(self, prepared, predictions):
        return classification_report(
            self.targets(prepared.rows), predicted_classes(predictions), self.labels
        )

    def truths(self, rows):
        return [[label] for label in rows.labels]

    def prior_loss(self, prepared):
        """Returns the entropy of the labels, weighted and smoothed as in the loss."""
        arrays = prepared.examples.example_arrays
        weights = arrays.get("label_weights")
        counts = np.bincount(arrays["labels"], weights, len(self.labels))
        shares = counts / counts.sum()
        smoothing = self.label_smoothing
        return entropy((1 - smoothing) * shares + smoothing / len(self.labels))

    def targets_of(self, labels):
        """Returns the class ids of labels, int32 `(num_rows,)`."""
        return label_ids(labels, self.labels)

    def _labels_of(self, logits):
        return [self.labels[index] for index in predicted_classes(logits)]

    def _class_weights(self, rows):
        counts = collections.Counter(rows.labels)
        weights = self.class_weights
        if weights == "balanced":
            share = len(rows.labels) / len(counts)
            weights = {label: share / count for label, count in counts.items()}
        unknown = sorted(weights.keys() - set(self.labels))
        if unknown:
            raise ValueError(
                f"Class weights must be of the labels {', '.join(self.labels)}. "
                f"Received: {', '.join(unknown)}."
            )
        if not any(weights.get(label, 1.0) for label in counts):
            raise ValueError(
                "A label of the training rows must have a class weight that is not 0. "
                f"Received: {shown(weights)}."
            )
        return np.array([weights.get(label, 1.0) for label in self.labels], np.float32)


@dataclasses.dataclass(frozen=True)
class TextRegressionTask(TextTask):
    """A number for one text or a pair of texts; the arguments are those of `TextTask`."""

    metrics_reported: tuple = ("pearson", "spearman")

    def build_model(self, backbone):
        return self.new_model(backbone, num_classes=1)

    def losses(self):
        return "auto"

    def metrics(self):
        return []

    def score(self, prepared, predictions):
        """Returns the task's metrics of scores, their `loss` and `num_examples`.

        Also `prior_loss`, of always predicting the mean, and `spread`, the largest
        prediction minus the smallest.
        """
        targets = self.targets(prepared.rows)
        return {
            **score(self.metrics_reported, targets, predictions),
            "loss": float(np.mean((predictions[:, 0] - targets) ** 2)),
            "num_examples": len(targets),
            "prior_loss": float(targets.var()),
            "spread": float(np.ptp(predictions)),
        }

    def described(self, predictions):
        """Returns the `score` of each row."""
        return {"score": predictions[:, 0].tolist()}

    def write_submission(self, path, prepared, predictions):
        """Writes scores in the format of GLUE's server, to `STS-B.tsv`."""
        write_glue_predictions(path, predictions[:, 0])

    def prior_loss(self, prepared):
        """Returns the variance of the numbers."""
        return float(prepared.examples.example_arrays["labels"].var())

    def targets_of(self, labels):
        """Returns the numbers, float32 `(num_rows,)`."""
        return label_numbers(labels)


def _loss(targets, logits):
    """Returns the mean cross-entropy, in nats."""
    from scipy.special import log_softmax

    log_probs = log_softmax(logits.astype(np.float64), axis=-1)
    return float(-log_probs[np.arange(len(targets)), targets].mean())
