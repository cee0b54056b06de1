"""Multi-label classification of texts."""

import dataclasses
from typing import ClassVar

import numpy as np

from albert_keras.options import check_unused
from albert_keras.tasks.metrics import (
    check_finite_outputs,
    entropy,
    label_ids,
    rates_by_label,
)
from albert_keras.tasks.text_classification.reading import Columns, each_label
from albert_keras.tasks.text_classification.task import TextClassificationTask

# A row has the labels whose probability is above this.
THRESHOLD = 0.5
# Keras' epsilon, which limits the loss of a label to 16 nats.
_LEAST_PROBABILITY = 1e-7

_COLUMNS = Columns(label="labels", label_separator="|")


@dataclasses.dataclass(frozen=True)
class MultiLabelTask(TextClassificationTask):
    """Any number of labels, also none, for one text or a pair of texts.

    A cell of a table holds the labels, separated by `|` unless `columns` say otherwise.
    JSON lines may have a list instead. The model gives a probability for each label; the
    labels above 0.5 are predicted.

    Args:
        columns: `Columns` of the files, with a `label_separator`.
        label_smoothing: float in [0, 1). Share of each label's target that is 0.5.
            Default 0.
        **: The other arguments of `TextClassificationTask`, except class weights and
            exits.
    """

    columns: Columns = _COLUMNS
    metrics_reported: tuple = ("micro_f1", "macro_f1", "subset_accuracy")

    several_labels: ClassVar[bool] = True
    activation: ClassVar[str] = "sigmoid"

    def __post_init__(self):
        super().__post_init__()
        unused = ("class_weights", "early_exit")
        check_unused(vars(self), unused, "several labels a row")

    def losses(self):
        import keras

        return keras.losses.BinaryCrossentropy(label_smoothing=self.label_smoothing)

    def metrics(self):
        import keras

        return [keras.metrics.BinaryAccuracy(name="accuracy")]

    def targets(self, rows):
        """Returns 1.0 for each label that a row has, float32 `(num_rows, num_labels)`."""
        labels = rows.labels
        row_of = np.repeat(np.arange(len(labels)), [*map(len, labels)])
        targets = np.zeros((len(labels), len(self.labels)), np.float32)
        targets[row_of, label_ids(each_label(labels), self.labels)] = 1.0
        return targets

    def score(self, prepared, predictions):
        """Returns the scores of probabilities `(num_rows, num_labels)`.

        Returns:
            Dict: `micro_f1` of all pairs of a row and a label; `macro_f1`, the mean F1 of
            the labels, 0.0 for labels that do not occur; `subset_accuracy`, the share of
            rows whose labels are all right; `loss`, the mean binary cross-entropy in
            nats; `num_examples`; `majority_accuracy`, the subset accuracy of always
            predicting the most frequent set of labels; and `num_predicted_labels`, the
            number of different sets.
        """
        from sklearn.metrics import f1_score

        check_finite_outputs(predictions)
        targets = self.targets(prepared.rows)
        chosen = predictions > THRESHOLD
        scores = {
            f"{average}_f1": float(
                f1_score(targets > 0, chosen, average=average, zero_division=0.0)
            )
            for average in ("micro", "macro")
        }
        of_target = np.where(targets > 0, predictions, 1 - predictions)
        _, frequencies = np.unique(targets, axis=0, return_counts=True)
        return {
            **scores,
            "subset_accuracy": float((targets == chosen).all(axis=1).mean()),
            "loss": float(-np.log(np.maximum(of_target, _LEAST_PROBABILITY)).mean()),
            "num_examples": len(targets),
            "majority_accuracy": float(frequencies.max() / len(targets)),
            "num_predicted_labels": len(np.unique(chosen, axis=0)),
        }

    def described(self, predictions):
        names = np.array(self.labels, dtype=object)
        labels = [names[row > THRESHOLD].tolist() for row in predictions]
        return {
            # In one cell of a table.
            "label": [self.columns.label_separator.join(row) for row in labels],
            "labels": labels,
            "probabilities": self.by_label(predictions),
        }

    def truths(self, rows):
        return [[cell] for cell in self.described(self.targets(rows))["label"]]

    def report(self, prepared, predictions):
        """Returns precision, recall and F1 of each label."""
        targets = self.targets(prepared.rows) > 0
        chosen = predictions > THRESHOLD
        counts = (array.sum(axis=0) for array in (targets, chosen, targets & chosen))
        labels = list(self.labels)
        return {"labels": labels, "classes": rates_by_label(labels, *counts)}

    def prior_loss(self, prepared):
        """Returns the mean entropy of the labels, smoothed as in the loss."""
        shares = prepared.examples.example_arrays["labels"].mean(axis=0)
        shares = (1 - self.label_smoothing) * shares + self.label_smoothing / 2
        return entropy(np.stack([shares, 1 - shares]))
