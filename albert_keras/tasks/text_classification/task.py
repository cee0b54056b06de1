"""Classification and regression of texts and pairs of texts, from any table."""

import collections
import dataclasses
import pathlib
from typing import ClassVar

import keras
import numpy as np

from albert_keras.models import AlbertTextClassifier, AlbertTextClassifierPreprocessor
from albert_keras.tasks.finetuning import FinetuningTask, PreparedRows
from albert_keras.tasks.metrics import (
    check_finite_outputs,
    classification_report,
    count_ties,
    entropy,
    majority_accuracy,
    predicted_classes,
    score,
)
from albert_keras.tasks.submissions import GLUE_ANSWERS, write_glue_predictions
from albert_keras.tasks.text_classification.examples import (
    TRUNCATIONS,
    pack_texts,
    split_texts,
)
from albert_keras.tasks.text_classification.reading import (
    Columns,
    LabelledTexts,
    label_ids,
    label_numbers,
    read_labelled_texts,
)
from albert_keras.train_step import SmoothedCrossentropy

# Of a text that is longer than a sequence: a part of it, or windows whose logits are
# averaged.
LONG_TEXTS = (*TRUNCATIONS, "windows")


@dataclasses.dataclass(frozen=True)
class TextClassificationTask(FinetuningTask):
    """One label, or one number, for one text or a pair.

    Args:
        columns: `Columns` of the files.
        tfds_columns: `Columns` of the data set in TFDS, where they differ.
        labels: Tuple of label names in the order of the logits, or None to take those
            of the training file, sorted. Empty for regression.
        metrics_reported: Tuple of names of `METRICS`; the first one decides.
        long_texts: str, of `LONG_TEXTS`.
        class_weights: Dict from a label to its weight in the loss, `"balanced"` for
            weights that make up for their numbers, or None for none.
        label_smoothing: float in [0, 1).

    Raises:
        ValueError: If `long_texts` is unknown, or for pairs, or weights or smoothing are
            for regression.

    Example:

    ```python
    task = TextClassificationTask(columns=Columns(text="review"))
    rows = task.read("train.csv")
    task = task.for_run(rows, tokenizer)
    model = task.build_model(backbone)
    ```
    """

    columns: Columns = dataclasses.field(default_factory=Columns)
    tfds_columns: Columns | None = None
    labels: tuple | None = None
    metrics_reported: tuple = ("accuracy",)
    long_texts: str = "head"
    class_weights: dict | str | None = None
    label_smoothing: float = 0.0

    facts: ClassVar[tuple] = ("labels",)

    def __post_init__(self):
        if self.long_texts not in LONG_TEXTS:
            raise ValueError(
                f"`long_texts` must be one of {', '.join(LONG_TEXTS)}. "
                f"Received: long_texts={self.long_texts!r}."
            )
        if self.columns.pair and self.long_texts != "head":
            raise ValueError(
                "Of pairs the beginnings are kept: `long_texts` is for single texts. "
                f"Received: long_texts={self.long_texts!r}."
            )

        if self.is_regression and (self.label_smoothing or self.class_weights):
            raise ValueError(
                "Numbers have neither classes to weigh nor labels to smooth. Received: "
                f"label_smoothing={self.label_smoothing}, "
                f"class_weights={self.class_weights} for regression. Leave them out."
            )

    @property
    def main_metric(self):
        """The metric that decides which checkpoint is the best."""
        return self.metrics_reported[0]

    @property
    def is_regression(self):
        """Whether the labels are numbers."""
        return self.labels == ()

    def read(self, source, *, needs_labels=True):
        """Returns the `LabelledTexts` of a table, a folder or a TFDS data set."""
        columns = self.columns
        if str(source).startswith("tfds:"):
            columns = self.tfds_columns or columns
        # Test files may have labels that are none of the task's.
        return read_labelled_texts(source, columns, needs_labels=needs_labels)

    def for_run(self, rows, tokenizer, labels=None):
        """Returns the task with its labels and tokenizer fixed.

        Args:
            rows: `LabelledTexts` of the training file.
            tokenizer: A tokenizer of this package.
            labels: Sequence of label names of an earlier run, or None for the task's
                own, or else those of `rows`.

        Raises:
            ValueError: If the training file has fewer than two labels.
        """
        given = self.labels if labels is None else labels
        labels = tuple(sorted(set(rows.labels)) if given is None else given)
        if len(labels) == 1:
            raise ValueError(
                "Classification needs at least two labels. "
                f"Received: labels={', '.join(labels)}."
            )
        return dataclasses.replace(self, labels=labels, tokenizer=tokenizer)

    def prepare(self, rows, *, training=False):
        """Returns `PreparedRows`, whose details are the row of each sequence.

        Args:
            rows: `LabelledTexts`.
            training: bool. Whether labels must be there, and are weighted.
        """
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
            targets = self._targets(rows)
            examples = examples.with_arrays(labels=targets[row_of])
            if training and self.class_weights:
                weights = self._class_weights(rows)[targets[row_of]]
                examples = examples.with_arrays(label_weights=weights)
        return PreparedRows(rows, examples, row_of)

    def notes(self, prepared):
        """Returns how many rows were left out, and how many are as long as can be."""
        lines = []
        if prepared.rows.num_skipped:
            lines.append(f"{prepared.rows.num_skipped} broken rows were left out")
        length = self.recipe.sequence_length
        num_full = int((prepared.examples.lengths == length).sum())
        if num_full and self.long_texts != "windows":
            share = num_full / prepared.examples.num_examples
            lines.append(f"{share:.1%} of the rows fill {length} tokens or were cut")
        return lines

    def build_model(self, backbone):
        """Returns an `AlbertTextClassifier` with a fresh head and no preprocessor."""
        num_outputs = 1 if self.is_regression else len(self.labels)
        return AlbertTextClassifier(
            backbone, num_outputs, dropout=self.recipe.classifier_dropout
        )

    def load_model(self, folder):
        """Returns the `AlbertTextClassifier` of a finished run."""
        return AlbertTextClassifier.from_preset(str(folder))

    def servable(self, model):
        """Gives the model a preprocessor that packs texts as this task does, if any."""
        if self.long_texts == "head":
            model.preprocessor = AlbertTextClassifierPreprocessor(
                self.tokenizer, sequence_length=self.recipe.sequence_length
            )
        return model

    def assemble(self, batch):
        """Returns features, labels and, with class weights, weights of a batch."""
        weights = [batch["label_weights"]] if "label_weights" in batch else []
        return (self.features(batch), batch["labels"], *weights)

    def losses(self):
        """Returns the cross-entropy, or the squared error of regression."""
        if self.is_regression:
            return keras.losses.MeanSquaredError()
        if self.label_smoothing:
            return SmoothedCrossentropy(self.label_smoothing)
        return super().losses()

    def metrics(self):
        """Returns the accuracy; nothing for regression."""
        return [] if self.is_regression else super().metrics()

    def predict(self, model, prepared, batch_size):
        """Returns logits, float32 `(num_rows, num_classes)`, in the rows' order.

        Those of a text in windows are the mean of its windows'.
        """
        row_of = prepared.details
        num_outputs = model.output_shape[-1]
        sums = np.zeros((len(prepared.rows.texts), num_outputs), np.float64)
        for sequences, logits in self.outputs(model, prepared.examples, batch_size):
            np.add.at(sums, row_of[sequences], logits)
        logits = (sums / np.bincount(row_of)[:, np.newaxis]).astype(np.float32)
        check_finite_outputs(logits)
        return logits

    def score(self, prepared, predictions):
        """Returns the scores of logits.

        Returns:
            Dict: the task's metrics, `loss`, `majority_accuracy` (of always answering
            the commonest label) and numbers of examples, of different labels predicted
            and of ties, which go to the first label; of regression `prior_loss` (of
            always answering the mean) and `spread`, the greatest prediction less the
            least.

        Raises:
            ValueError: If the rows have no labels, or logits are NaN.
        """
        targets = self._targets(prepared.rows)
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
        """Returns `LabelledTexts` of single texts, or of two that make a pair."""
        if not self.columns.pair:
            return LabelledTexts(list(texts), None)
        if len(texts) != 2:
            raise ValueError(
                "This task is on pairs of texts: two must be given. "
                f"Received: {len(texts)}. For more pairs give a file by `--data`."
            )
        return LabelledTexts([texts[0]], None, [texts[1]])

    def describe(self, prepared, predictions):
        """Returns the text, the logits, and the label with its probabilities."""
        described = [{"text": text} for text in prepared.rows.texts]
        if prepared.rows.pairs:
            for row, text in zip(described, prepared.rows.pairs, strict=True):
                row["text_pair"] = text
        from scipy.special import softmax

        probabilities = softmax(predictions, axis=-1)
        for row, logits, chances in zip(
            described, predictions, probabilities, strict=True
        ):
            row["logits"] = logits.tolist()
            if not self.is_regression:
                row["probabilities"] = chances.tolist()
                row["label"] = self.labels[logits.argmax()]
        return described

    def write_submission(self, path, prepared, predictions):
        """Writes predictions as GLUE's server wants them, `SST-2.tsv` and so on.

        Raises:
            ValueError: If the file has no name of GLUE's.
        """
        path = pathlib.Path(path)
        if path.suffix != ".tsv" or path.stem not in GLUE_ANSWERS:
            raise ValueError(
                "A file of predictions must end in .jsonl, or be named as GLUE's server "
                f"wants it: {', '.join(f'{name}.tsv' for name in GLUE_ANSWERS)}. "
                f"Received: '{path}'."
            )
        if self.is_regression != (GLUE_ANSWERS[path.stem] is None):
            raise ValueError(
                "A file of scores must be of a regression's, one of labels of a "
                f"classifier's predictions. Received: '{path}', labels: "
                f"{', '.join(self.labels) or 'none'}."
            )
        answers = predictions[:, 0]
        if not self.is_regression:
            answers = [self.labels[i] for i in predicted_classes(predictions)]
        write_glue_predictions(path.parent, path.stem, answers)

    def report(self, prepared, predictions):
        """Returns the confusion matrix and scores by class; nothing for regression."""
        if self.is_regression:
            return {}
        return classification_report(
            self._targets(prepared.rows), predicted_classes(predictions), self.labels
        )

    def text_keys(self, rows):
        """Returns each row's text, or pair of texts."""
        if rows.pairs is None:
            return rows.texts
        return list(zip(rows.texts, rows.pairs, strict=True))

    def prior_loss(self, prepared):
        """Returns the loss of the best constant answer to training rows.

        The entropy of the labels, weighted and smoothed as in the loss, in nats; of
        regression their variance.
        """
        arrays = prepared.examples.example_arrays
        targets = arrays["labels"]
        if self.is_regression:
            return float(targets.var())
        counts = np.bincount(targets, arrays.get("label_weights"), len(self.labels))
        shares = counts / counts.sum()
        smoothing = self.label_smoothing
        return entropy((1 - smoothing) * shares + smoothing / len(self.labels))

    def _targets(self, rows):
        if rows.labels is None:
            raise ValueError(
                "Training and evaluation need labels. "
                f"Received: rows without the column `{self.columns.label}`."
            )
        if self.is_regression:
            return label_numbers(rows.labels)
        return label_ids(rows.labels, self.labels)

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
