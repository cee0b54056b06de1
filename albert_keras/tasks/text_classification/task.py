"""Classification and regression of texts and pairs of texts."""

import collections
import dataclasses
from typing import ClassVar

import numpy as np

from albert_keras.checks import check_choice
from albert_keras.options import option
from albert_keras.preprocessors.texts import (
    TRUNCATIONS,
    pack_texts,
    split_texts,
)
from albert_keras.tasks.finetuning import FinetuningTask, PreparedRows
from albert_keras.tasks.metrics import (
    classification_report,
    count_ties,
    entropy,
    label_ids,
    majority_accuracy,
    predicted_classes,
    score,
)
from albert_keras.tasks.reading import is_tfds
from albert_keras.tasks.text_classification.glue_predictions import (
    is_glue_file,
    write_glue_predictions,
)
from albert_keras.tasks.text_classification.reading import (
    Columns,
    LabelledTexts,
    describe_labels,
    each_label,
    label_numbers,
    read_labelled_texts,
)

# What is used of a long text: a part, or all of it, in windows whose logits are averaged.
LONG_TEXTS = (*TRUNCATIONS, "windows")


@dataclasses.dataclass(frozen=True)
class TextClassificationTask(FinetuningTask):
    """One label, or one number, for one text or a pair of texts.

    Args:
        columns: `Columns` of the files.
        tfds_columns: `Columns` of the TFDS data set. Default None: those of the files.
        labels: Tuple of label names in the order of the logits; empty for regression.
            Default None: the labels of the training file, sorted.
        metrics_reported: Tuple of names of `METRICS`. The best checkpoint is chosen by
            the first.
        long_texts: str, one of `LONG_TEXTS`; for pairs only `"head"`.
        class_weights: Dict from a label to its weight in the loss, or `"balanced"` for
            weights inversely proportional to the labels' frequencies. Default None.
        label_smoothing: float in [0, 1). Default 0.

    Raises:
        ValueError: If `long_texts` is unknown or not `"head"` for pairs, regression has
            class weights or label smoothing, or the columns are of several labels a row.
    """

    columns: Columns = dataclasses.field(default_factory=Columns)
    tfds_columns: Columns | None = None
    labels: tuple | None = None
    metrics_reported: tuple = ("accuracy",)
    long_texts: str = option(
        "part of a long text that is kept; `windows` keeps all and averages their logits",
        "head",
        choices=LONG_TEXTS,
    )
    class_weights: dict | str | None = option(
        "weights of labels in the loss, LABEL=WEIGHT, or `balanced` (default: equal)",
        None,
    )
    label_smoothing: float = option("probability taken from the target label", 0.0)

    facts: ClassVar[tuple] = ("labels",)
    # Whether a row has any number of labels, as in the subclass.
    several_labels: ClassVar[bool] = False
    activation: ClassVar[str | None] = None

    def __post_init__(self):
        if (self.columns.label_separator is not None) != self.several_labels:
            raise ValueError(
                "`label_separator` is for tasks with several labels a row, as "
                "multi-label-classification. "
                f"Received: label_separator={self.columns.label_separator!r}."
            )
        check_choice("long_texts", self.long_texts, LONG_TEXTS)
        if self.columns.pair and self.long_texts != "head":
            raise ValueError(
                '`long_texts` must be "head" for pairs; the others are for single texts. '
                f"Received: long_texts={self.long_texts!r}."
            )
        if self.is_regression and (self.label_smoothing or self.class_weights):
            raise ValueError(
                "Class weights and label smoothing have no effect on regression. "
                f"Received: label_smoothing={self.label_smoothing}, "
                f"class_weights={self.class_weights} for regression. Remove them."
            )

    @property
    def main_metric(self):
        return self.metrics_reported[0]

    @property
    def is_regression(self):
        """Whether the labels are numbers."""
        return self.labels == ()

    def with_columns(self, **changes):
        """Returns a copy that reads other columns; the arguments are those of `Columns`.

        >>> TextClassificationTask().with_columns(text="review").columns.text
        'review'
        """
        columns = {"columns": dataclasses.replace(self.columns, **changes)}
        if self.tfds_columns:
            columns["tfds_columns"] = dataclasses.replace(self.tfds_columns, **changes)
        return dataclasses.replace(self, **columns)

    def read(self, source, *, needs_labels=True):
        """Returns `LabelledTexts`."""
        columns = self.columns
        if is_tfds(source):
            columns = self.tfds_columns or columns
        # Test files may have other labels than the task.
        return read_labelled_texts(
            source, columns, needs_labels=needs_labels, decoding=self.decoding
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

    def prepare(self, rows, *, training=False):
        """Returns `PreparedRows` with the row of each example as details."""
        encoder, length = self.tokenizer.encoder, self.recipe.sequence_length
        if self.long_texts == "windows":
            examples, row_of = split_texts(encoder, rows.texts, sequence_length=length)
        else:
            examples = pack_texts(
                encoder,
                rows.texts,
                rows.pairs,
                sequence_length=length,
                truncation=self.long_texts,
            )
            row_of = np.arange(len(rows.texts))
        if rows.labels is not None:
            targets = self.targets(rows)
            examples = examples.with_arrays(labels=targets[row_of])
            if training and self.class_weights:
                weights = self._class_weights(rows)[targets[row_of]]
                examples = examples.with_arrays(label_weights=weights)
        return PreparedRows(rows, examples, row_of)

    def notes(self, prepared):
        labels = each_label(prepared.rows.labels or [])
        lines = describe_labels(labels) if labels and not self.is_regression else []
        length = self.recipe.sequence_length
        num_full = int((prepared.examples.lengths == length).sum())
        if num_full and self.long_texts != "windows":
            share = num_full / prepared.examples.num_examples
            lines.append(f"{share:.1%} of the rows fill {length} tokens or were cut")
        return lines

    def build_model(self, backbone):
        from albert_keras.models import AlbertTextClassifier

        num_outputs = 1 if self.is_regression else len(self.labels)
        return AlbertTextClassifier(
            backbone,
            num_outputs,
            dropout=self.recipe.classifier_dropout,
            labels=self.labels or None,
            activation=self.activation,
        )

    def servable(self, model):
        """Adds a preprocessor that packs texts like the task; none for windows."""
        from albert_keras.preprocessors import AlbertTextClassifierPreprocessor

        if self.long_texts == "head":
            model.preprocessor = AlbertTextClassifierPreprocessor(
                self.tokenizer,
                sequence_length=self.recipe.sequence_length,
                takes_pairs=self.columns.pair is not None,
            )
        return model

    def losses(self):
        from albert_keras.train_step import SmoothedCrossentropy

        if self.label_smoothing:
            return SmoothedCrossentropy(self.label_smoothing)
        return "auto"

    def metrics(self):
        return [] if self.is_regression else super().metrics()

    def predict(self, model, prepared, batch_size):
        """Returns logits, float32 `(num_rows, num_classes)`, averaged over windows."""
        # (num_examples, num_classes)
        logits = super().predict(model, prepared, batch_size)
        row_of = prepared.details
        sums = np.zeros((len(prepared.rows.texts), logits.shape[1]))
        np.add.at(sums, row_of, logits)
        return (sums / np.bincount(row_of)[:, np.newaxis]).astype(np.float32)

    def score(self, prepared, predictions):
        """Returns the task's metrics of logits, their `loss` and `num_examples`.

        Of labels also `majority_accuracy` (of always predicting the most frequent one),
        `num_predicted_labels` (different ones) and `num_ties`, which are decided for the
        first label. Of regression also `prior_loss` (of always predicting the mean) and
        `spread`, the largest prediction minus the smallest.
        """
        targets = self.targets(prepared.rows)
        results = {
            **score(self.metrics_reported, targets, predictions),
            "loss": self._loss(targets, predictions),
            "num_examples": len(targets),
        }
        if self.is_regression:
            spread = float(np.ptp(predictions))
            return {**results, "prior_loss": float(targets.var()), "spread": spread}
        return {
            **results,
            "majority_accuracy": majority_accuracy(targets),
            "num_predicted_labels": len(np.unique(predicted_classes(predictions))),
            "num_ties": count_ties(predictions),
        }

    def rows_of(self, texts):
        """Returns `LabelledTexts` of single texts, or of two texts that form a pair."""
        if not self.columns.pair:
            return LabelledTexts(list(texts), None)
        if len(texts) != 2:
            raise ValueError(
                "This task is on pairs of texts: two must be given. "
                f"Received: {len(texts)}. For more pairs give a file by `--data`."
            )
        return LabelledTexts([texts[0]], None, [texts[1]])

    def describe(self, prepared, predictions):
        """Returns a dict for each row: its texts, and the columns of `described`."""
        rows = prepared.rows
        columns = {"text": rows.texts}
        if rows.pairs:
            columns["text_pair"] = rows.pairs
        columns |= self.described(predictions)
        return [
            dict(zip(columns, row, strict=True))
            for row in zip(*columns.values(), strict=True)
        ]

    def described(self, predictions):
        """Returns a dict of columns: `label`, `probabilities` by label, and `logits`.

        Of regression it is `score`.
        """
        from scipy.special import softmax

        if self.is_regression:
            return {"score": predictions[:, 0].tolist()}
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

    def has_submission(self, path):
        return is_glue_file(path) or super().has_submission(path)

    def write_submission(self, path, prepared, predictions):
        """Writes predictions in the format of GLUE's server, to a file like `RTE.tsv`."""
        scores = predictions[:, 0]
        answers = scores if self.is_regression else self._labels_of(predictions)
        write_glue_predictions(path, answers)

    def report(self, prepared, predictions):
        if self.is_regression:
            return {}
        return classification_report(
            self.targets(prepared.rows), predicted_classes(predictions), self.labels
        )

    def text_keys(self, rows):
        if rows.pairs is None:
            return rows.texts
        return list(zip(rows.texts, rows.pairs, strict=True))

    def prior_loss(self, prepared):
        """Returns the entropy of the labels, weighted and smoothed as in the loss.

        For regression it is their variance.
        """
        arrays = prepared.examples.example_arrays
        targets = arrays["labels"]
        if self.is_regression:
            return float(targets.var())
        counts = np.bincount(targets, arrays.get("label_weights"), len(self.labels))
        shares = counts / counts.sum()
        smoothing = self.label_smoothing
        return entropy((1 - smoothing) * shares + smoothing / len(self.labels))

    def targets(self, rows):
        """Returns the labels of rows as arrays `(num_rows, ...)`; see `targets_of`."""
        if rows.labels is None:
            raise ValueError(
                "Training and evaluation need labels. "
                f"Received: rows without the column `{self.columns.label}`."
            )
        return self.targets_of(rows.labels)

    def targets_of(self, labels):
        """Returns class ids, or numbers, of labels, `(num_rows,)`."""
        if self.is_regression:
            return label_numbers(labels)
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
        return np.array([weights.get(label, 1.0) for label in self.labels], np.float32)

    def _loss(self, targets, predictions):
        from scipy.special import log_softmax

        if self.is_regression:
            return float(np.mean((predictions[:, 0] - targets) ** 2))
        log_probs = log_softmax(predictions.astype(np.float64), axis=-1)
        return float(-log_probs[np.arange(len(targets)), targets].mean())
