"""Base of tasks that predict labels or numbers for texts or pairs."""

import abc
import dataclasses
from typing import ClassVar

import numpy as np

from albert_keras.checks import shown
from albert_keras.options import check_unused, option
from albert_keras.preprocessors.texts import TRUNCATIONS, pack_texts, split_texts
from albert_keras.tasks.finetuning import FinetuningTask, PreparedRows
from albert_keras.tasks.reading import as_columns, is_tfds, labels_or_none
from albert_keras.tasks.text_classification.glue_predictions import is_glue_file
from albert_keras.tasks.text_classification.reading import (
    Columns,
    LabelledTexts,
    read_labelled_texts,
)
from albert_keras.text.tables import TABLE_READERS

# How long texts are shortened, or read as a whole, in windows with averaged outputs.
LONG_TEXTS = (*TRUNCATIONS, "windows")

# How exits after every layer are trained.
EXIT_TRAINING = ("joint", "two-stage")


@dataclasses.dataclass(frozen=True)
class TextTask(FinetuningTask):
    """What is to be predicted of one text, or of a pair of texts, from tables.

    Args:
        columns: `Columns` of the files.
        tfds_columns: `Columns` of the TFDS data set. Default None: those of the files.
        metrics_reported: Tuple of names of scores. The best checkpoint is chosen by the
            first.
        long_texts: str, one of `LONG_TEXTS`; for pairs only `"head"`.
        early_exit: `None`, or one of `EXIT_TRAINING`: the model has an exit after every
            layer.

    Raises:
        ValueError: If `long_texts` is unknown or not `"head"` for pairs, or the columns
            are of several labels a row and the task is not, or the reverse.
    """

    columns: Columns = dataclasses.field(default_factory=Columns)
    tfds_columns: Columns | None = None
    metrics_reported: tuple = ("accuracy",)
    long_texts: str = option(
        "part of long texts to keep, or all in windows", "head", choices=LONG_TEXTS
    )
    early_exit: str | None = option(
        "add an exit after every layer: `joint`, trained with the model, or `two-stage`, "
        "trained on a finished classifier, the checkpoint, which stays as it is",
        None,
        choices=EXIT_TRAINING,
    )

    tables: ClassVar[tuple] = tuple(TABLE_READERS)
    # Whether a row has any number of labels.
    several_labels: ClassVar[bool] = False

    def __post_init__(self):
        super().__post_init__()
        if (self.columns.label_separator is not None) != self.several_labels:
            raise ValueError(
                "`label_separator` is for tasks with several labels a row. "
                f"Received: label_separator={self.columns.label_separator!r}."
            )
        if self.columns.pair:
            given = {
                "long_texts": None if self.long_texts == "head" else self.long_texts
            }
            check_unused(given, given, "pairs of texts")

    @property
    def main_metric(self):
        return self.metrics_reported[0]

    # === To write for a new kind of label ===

    @abc.abstractmethod
    def targets_of(self, labels):
        """Returns labels as an array `(num_rows, ...)`."""

    @abc.abstractmethod
    def described(self, predictions):
        """Returns the columns that `describe` adds to the texts, a dict of lists."""

    # === Defaults ===

    def new_model(self, backbone, num_classes, **options):
        """Returns a model with a new head, or heads if it has exits."""
        from albert_keras.models import AlbertEarlyExitClassifier, AlbertTextClassifier

        kind = AlbertEarlyExitClassifier if self.early_exit else AlbertTextClassifier
        dropout = self.recipe.classifier_dropout
        return kind(backbone, num_classes, dropout=dropout, **options)

    def with_columns(self, **changes):
        """Returns a copy that reads other columns; the arguments are those of `Columns`.

        >>> from albert_keras.tasks import TASKS
        >>> TASKS["imdb"].with_columns(text="review").columns.text
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
            arrays = self.label_arrays(rows, training)
            examples = examples.with_arrays(
                **{name: array[row_of] for name, array in arrays.items()}
            )
        return PreparedRows(rows, examples, row_of)

    def label_arrays(self, rows, training):
        """Returns the arrays `(num_rows, ...)` of labelled rows that examples hold."""
        return {"labels": self.targets(rows)}

    def notes(self, prepared):
        length = self.recipe.sequence_length
        num_full = int((prepared.examples.lengths == length).sum())
        if not num_full or self.long_texts == "windows":
            return []
        share = num_full / prepared.examples.num_examples
        return [
            f"{share:.1%} of the rows fill {length} tokens or were cut: --long-texts and "
            "--sequence-length of `finetune` say how much of a text is read"
        ]

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

    def predict(self, model, prepared, batch_size):
        """Returns outputs, float32 `(num_rows, num_outputs)`, averaged over windows."""
        return self.of_rows(prepared, super().predict(model, prepared, batch_size))

    def of_rows(self, prepared, outputs):
        """Returns outputs of examples `(num_examples, ...)` averaged over windows."""
        row_of = prepared.details
        sums = np.zeros((len(prepared.rows.texts), *outputs.shape[1:]))
        np.add.at(sums, row_of, outputs)
        num_windows = np.bincount(row_of).reshape(-1, *[1] * (outputs.ndim - 1))
        return (sums / num_windows).astype(np.float32)

    def rows_of(self, samples):
        """Returns `LabelledTexts` of texts, or of pairs, tuples of two texts.

        Or of dicts, with the names of the task's columns, or `text` and `text_pair`.
        Classifiers that do not say what they were trained on take either.
        """
        names = [(self.columns.text, "text")]
        if self.columns.pair:
            names.append((self.columns.pair, "text_pair"))
        elif self.long_texts == "head":
            names.append(("text_pair",))
        optional = None if self.columns.pair else ("text_pair",)
        texts, *pairs = as_columns(samples, *names, optional=optional)
        if pairs and optional:
            rule = "samples must have a second text"
            pairs = [labels_or_none(*pairs, [*map(shown, texts)], rule)]
        return LabelledTexts(texts, None, *pairs)

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

    def has_submission(self, path):
        return is_glue_file(path)

    def text_keys(self, rows):
        if rows.pairs is None:
            return rows.texts
        return list(zip(rows.texts, rows.pairs, strict=True))

    def targets(self, rows):
        """Returns the labels of rows as arrays `(num_rows, ...)`."""
        if rows.labels is None:
            raise ValueError(
                "Training and evaluation need labels. "
                f"Received: rows without the column `{self.columns.label}`."
            )
        return self.targets_of(rows.labels)
