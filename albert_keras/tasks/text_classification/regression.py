"""Regression of texts and pairs of texts."""

import dataclasses

import numpy as np

from albert_keras.tasks.metrics import score
from albert_keras.tasks.text_classification.base import TextTask
from albert_keras.tasks.text_classification.glue_predictions import (
    write_glue_predictions,
)
from albert_keras.tasks.text_classification.reading import label_numbers


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
