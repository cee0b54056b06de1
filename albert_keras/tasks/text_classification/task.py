"""Classification and regression of texts and pairs of texts."""

import abc
import collections
import dataclasses
import math
from typing import ClassVar

import numpy as np

from albert_keras.checks import is_number, shown
from albert_keras.options import Range, check_unused, option
from albert_keras.preprocessors.texts import TRUNCATIONS, pack_texts, split_texts
from albert_keras.tasks import metrics
from albert_keras.tasks.finetuning import FinetuningTask, PreparedRows
from albert_keras.tasks.reading import as_columns, as_rows, is_tfds, labels_or_none
from albert_keras.tasks.text_classification import glue_predictions, reading
from albert_keras.text.tables import TABLE_READERS

# The part of a long text that is kept. `windows` keeps all and averages the outputs.
LONG_TEXTS = (*TRUNCATIONS, "windows")

# A row has the labels whose probability is above this.
THRESHOLD = 0.5
# Keras' epsilon, which limits the loss of a label to 16 nats.
_LEAST_PROBABILITY = 1e-7

# How the exits of a model with an exit after every layer are trained.
EXIT_TRAINING = ("joint", "two-stage")


@dataclasses.dataclass(frozen=True)
class TextTask(FinetuningTask):
    """Prediction from tables with a text, or a pair of texts, in each row.

    Args:
        columns: `Columns` of the files.
        tfds_columns: `Columns` of the TFDS data set. Default None: those of the files.
        metrics_reported: Tuple of names of scores. The best checkpoint is chosen by the
            first.
        long_texts: str, one of `LONG_TEXTS`. Pairs of texts allow only `"head"`.
        early_exit: `None`, or one of `EXIT_TRAINING` for a model with an exit after every
            layer.

    Raises:
        ValueError: If `long_texts` is unknown, or is not `"head"` for pairs, or if only
            one of columns and task allows several labels per row.
    """

    columns: reading.Columns = reading.Columns()
    tfds_columns: reading.Columns | None = None
    metrics_reported: tuple = ("accuracy",)
    long_texts: str = option(
        "part of long texts to read, or `windows` for all", "head", choices=LONG_TEXTS
    )
    early_exit: str | None = option(
        "add an exit after every layer: `joint` trains exits and model together, "
        "`two-stage` trains only the exits of a finished classifier, the checkpoint",
        None,
        choices=EXIT_TRAINING,
    )

    tables: ClassVar[tuple] = tuple(TABLE_READERS)
    packing: ClassVar[tuple] = ("takes_pairs",)
    # Whether a row may have any number of labels.
    several_labels: ClassVar[bool] = False

    def __post_init__(self):
        super().__post_init__()
        if (self.columns.label_separator is not None) != self.several_labels:
            raise ValueError(
                "`label_separator` is for tasks with several labels a row. "
                f"Received: label_separator={self.columns.label_separator!r}."
            )
        if self.columns.pair and self.long_texts != "head":
            check_unused(vars(self), ["long_texts"], "pairs of texts")

    @property
    def takes_pairs(self):
        return self.columns.pair is not None

    @property
    def main_metric(self):
        return self.metrics_reported[0]

    # === To write for a new kind of label ===

    @abc.abstractmethod
    def targets(self, rows):
        """Returns the labels of labelled rows as an array `(num_rows, ...)`."""

    @abc.abstractmethod
    def described(self, predictions):
        """Returns the columns that `describe` adds to the texts, a dict of lists."""

    # === Defaults ===

    def new_model(self, backbone, num_classes, **options):
        """Builds a model with a new head, or with a head at every exit."""
        from albert_keras.models import AlbertEarlyExitClassifier, AlbertTextClassifier

        kind = AlbertEarlyExitClassifier if self.early_exit else AlbertTextClassifier
        dropout = self.recipe.classifier_dropout
        return kind(backbone, num_classes, dropout=dropout, **options)

    def read(self, source, *, needs_labels=True):
        """Returns `LabelledTexts`."""
        columns = (self.tfds_columns if is_tfds(source) else None) or self.columns
        return reading.read_labelled_texts(
            source, columns, needs_labels=needs_labels, decoding=self.decoding
        )

    def prepare(self, rows, *, training=False):
        """Returns `PreparedRows`; `details` are the numbers of the examples' rows."""
        encoder, length = self.tokenizer.encoder, self.recipe.sequence_length
        if self.long_texts == "windows":
            examples, row_of = split_texts(encoder, rows.texts, sequence_length=length)
        else:
            options = {"sequence_length": length, "truncation": self.long_texts}
            examples = pack_texts(encoder, rows.texts, rows.pairs, **options)
            row_of = np.arange(len(rows.texts))
        if rows.labels is not None:
            examples = examples.with_arrays(labels=self.targets(rows)[row_of])
        return PreparedRows(rows, examples, row_of)

    def notes(self, prepared):
        length = self.recipe.sequence_length
        num_full = int((prepared.examples.lengths == length).sum())
        if not num_full or self.long_texts == "windows":
            return []
        share = num_full / prepared.examples.num_examples
        return [
            f"{share:.1%} of the rows fill {length} tokens or were cut: --long-texts and "
            "--sequence-length of `finetune` set how much of a text is read"
        ]

    def servable(self, model):
        """Returns the model with a preprocessor if it reads the beginnings of texts."""
        return super().servable(model) if self.long_texts == "head" else model

    def predict(self, model, prepared, batch_size):
        """Returns outputs, float32 `(num_rows, num_outputs)`, the mean over windows."""
        return self.of_rows(prepared, super().predict(model, prepared, batch_size))

    def of_rows(self, prepared, outputs):
        """Returns the mean outputs of each row's examples, from `(num_examples, ...)`."""
        row_of = prepared.details
        sums = np.zeros((len(prepared.rows.texts), *outputs.shape[1:]))
        np.add.at(sums, row_of, outputs)
        num_windows = np.bincount(row_of).reshape(-1, *[1] * (outputs.ndim - 1))
        return (sums / num_windows).astype(np.float32)

    def rows_of(self, samples):
        """Returns `LabelledTexts` of texts, of tuples of two texts, or of dicts.

        Dicts have the names of the task's columns, or `text` and `text_pair`. A
        classifier that does not record what it was trained on takes texts and pairs.
        """
        pair = self.columns.pair or "text_pair"
        names = [(self.columns.text, "text"), (pair, "text_pair")]
        optional = None if self.columns.pair else names[1]
        if self.long_texts != "head":
            # Other parts than the beginning are those of single texts.
            return reading.LabelledTexts(*as_columns(samples, names[0]), None)
        texts, pairs = as_columns(samples, *names, optional=optional)
        rule = "samples must have a second text"
        pairs = labels_or_none(pairs, [*map(shown, texts)], rule)
        return reading.LabelledTexts(texts, None, pairs)

    def describe(self, prepared, predictions):
        """Returns a dict for each row: its texts, and the columns of `described`."""
        rows = prepared.rows
        columns = {"text": rows.texts}
        if rows.pairs:
            columns["text_pair"] = rows.pairs
        return as_rows({**columns, **self.described(predictions)})

    def has_submission(self, path):
        return path.suffix == ".tsv" and path.stem in glue_predictions.GLUE_ANSWERS

    def text_keys(self, rows):
        if rows.pairs is None:
            return rows.texts
        return list(zip(rows.texts, rows.pairs, strict=True))


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
        "label smoothing: share of the target spread over all labels",
        0.0,
        Range(0, below=1),
    )

    facts: ClassVar[tuple] = ("labels",)
    activation: ClassVar[str | None] = None

    def for_run(self, rows, tokenizer, labels=None):
        labels = self.labels if labels is None else labels
        if labels is None:
            labels = sorted({*reading.each_label(rows.labels)})
        if len(labels) == 1:
            raise ValueError(
                "Classification needs at least two labels. "
                f"Received: labels={', '.join(labels)}."
            )
        return super().for_run(rows, tokenizer, labels=tuple(labels))

    def prepare(self, rows, *, training=False):
        prepared = super().prepare(rows)
        if not (training and self.class_weights):
            return prepared
        examples = prepared.examples
        weights = self._class_weights(rows)[examples.example_arrays["labels"]]
        return prepared._replace(examples=examples.with_arrays(label_weights=weights))

    def notes(self, prepared):
        labels = reading.each_label(prepared.rows.labels or [])
        lines = reading.describe_labels(labels) if labels else []
        return [*lines, *super().notes(prepared)]

    def build_model(self, backbone):
        options = {"activation": self.activation} if self.activation else {}
        return self.new_model(backbone, len(self.labels), labels=self.labels, **options)

    def losses(self):
        from albert_keras.train_step import SmoothedCrossentropy

        if self.label_smoothing:
            return SmoothedCrossentropy(self.label_smoothing)
        return super().losses()

    def predict(self, model, prepared, batch_size):
        """Returns logits; of a model with softmax, the logarithms of its outputs."""
        outputs = super().predict(model, prepared, batch_size)
        activation = getattr(model, "activation", None)
        is_softmax = getattr(activation, "__name__", None) == "softmax"
        return metrics.log_probabilities(outputs) if is_softmax else outputs

    def score(self, prepared, predictions):
        """Returns the task's metrics of logits, their `loss` and `num_examples`.

        Also `majority_accuracy`, of always predicting the most frequent label;
        `num_predicted_labels`, the number of different predictions; and `num_ties`, the
        rows whose greatest logit several labels have. The first of these is predicted.
        """
        targets = self.targets(prepared.rows)
        chosen = metrics.predicted_classes(predictions)
        is_greatest = predictions == predictions.max(axis=-1, keepdims=True)
        return {
            **metrics.score(self.metrics_reported, targets, predictions),
            "loss": _loss(targets, predictions),
            "num_examples": len(targets),
            "majority_accuracy": metrics.majority_accuracy(targets),
            "num_predicted_labels": len(np.unique(chosen)),
            "num_ties": int((is_greatest.sum(axis=-1) > 1).sum()),
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
        """Returns probabilities `(num_rows, num_classes)` as a list of dicts by label."""
        rows = probabilities.tolist()
        return [dict(zip(self.labels, row, strict=True)) for row in rows]

    def write_submission(self, path, prepared, predictions):
        """Writes predictions to a file like `RTE.tsv`, for GLUE's server."""
        glue_predictions.write_glue_predictions(path, self._labels_of(predictions))

    def report(self, prepared, predictions):
        targets = self.targets(prepared.rows)
        chosen = metrics.predicted_classes(predictions)
        return metrics.classification_report(targets, chosen, self.labels)

    def truths(self, rows):
        return [[label] for label in rows.labels]

    def prior_loss(self, prepared):
        """Returns the entropy of the labels, weighted and smoothed as in the loss."""
        arrays = prepared.examples.example_arrays
        weights = arrays.get("label_weights")
        counts = np.bincount(arrays["labels"], weights, len(self.labels))
        shares = counts / counts.sum()
        smoothing = self.label_smoothing
        return metrics.entropy((1 - smoothing) * shares + smoothing / len(self.labels))

    def targets(self, rows):
        """Returns the class ids of the labels, int32 `(num_rows,)`."""
        return metrics.label_ids(rows.labels, self.labels)

    def _labels_of(self, logits):
        return [self.labels[index] for index in metrics.predicted_classes(logits)]

    def _class_weights(self, rows):
        counts = collections.Counter(rows.labels)
        weights = self.class_weights
        if weights == "balanced":
            share = len(rows.labels) / len(counts)
            weights = {label: share / count for label, count in counts.items()}
        are_known = weights.keys() <= set(self.labels)
        are_numbers = all(is_number(w) and 0 <= w < math.inf for w in weights.values())
        has_rows = any(weights.get(label, 1.0) for label in counts)
        if not (are_known and are_numbers and has_rows):
            raise ValueError(
                "Class weights must be finite, not negative, for the labels "
                f"{', '.join(self.labels)}, and not all 0. Received: {shown(weights)}."
            )
        return np.array([weights.get(label, 1.0) for label in self.labels], np.float32)


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

    columns: reading.Columns = reading.Columns(label="labels", label_separator="|")
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
        ids = metrics.label_ids(reading.each_label(labels), self.labels)
        targets = np.zeros((len(labels), len(self.labels)), np.float32)
        targets[row_of, ids] = 1.0
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
        targets = self.targets(prepared.rows)
        chosen = predictions > THRESHOLD
        of_target = np.where(targets > 0, predictions, 1 - predictions)
        _, frequencies = np.unique(targets, axis=0, return_counts=True)
        return {
            "micro_f1": metrics.f1(targets > 0, chosen, "micro"),
            "macro_f1": metrics.f1(targets > 0, chosen, "macro"),
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
        classes = metrics.rates_by_label(self.labels, *counts)
        return {"labels": list(self.labels), "classes": classes}

    def prior_loss(self, prepared):
        """Returns the mean entropy of the labels, smoothed as in the loss."""
        shares = prepared.examples.example_arrays["labels"].mean(axis=0)
        shares = (1 - self.label_smoothing) * shares + self.label_smoothing / 2
        return metrics.entropy(np.stack([shares, 1 - shares]))


@dataclasses.dataclass(frozen=True)
class TextRegressionTask(TextTask):
    """A number for one text or a pair of texts; the arguments are those of `TextTask`."""

    metrics_reported: tuple = ("pearson", "spearman")

    def build_model(self, backbone):
        return self.new_model(backbone, num_classes=1)

    def metrics(self):
        return []

    def score(self, prepared, predictions):
        """Returns the task's metrics of scores, their `loss` and `num_examples`.

        Also `prior_loss`, the loss of always predicting the mean, and `spread`, the
        greatest prediction minus the smallest.
        """
        targets = self.targets(prepared.rows)
        return {
            **metrics.score(self.metrics_reported, targets, predictions),
            "loss": float(np.mean((predictions[:, 0] - targets) ** 2)),
            "num_examples": len(targets),
            "prior_loss": float(targets.var()),
            "spread": float(np.ptp(predictions)),
        }

    def described(self, predictions):
        """Returns the `score` of each row."""
        return {"score": predictions[:, 0].tolist()}

    def write_submission(self, path, prepared, predictions):
        """Writes scores to `STS-B.tsv`, for GLUE's server."""
        glue_predictions.write_glue_predictions(path, predictions[:, 0])

    def prior_loss(self, prepared):
        """Returns the variance of the numbers."""
        return float(prepared.examples.example_arrays["labels"].var())

    def targets(self, rows):
        """Returns the numbers, float32 `(num_rows,)`."""
        return reading.label_numbers(rows.labels)


def _loss(targets, logits):
    """Returns the mean cross-entropy, in nats."""
    from scipy.special import log_softmax

    log_probs = log_softmax(logits.astype(np.float64), axis=-1)
    return float(-log_probs[np.arange(len(targets)), targets].mean())
