"""Classification of single texts, from any table with a text and a label column."""

import dataclasses

import keras

from albert_keras.data import label_ids, labelled_dataset, read_labelled_texts
from albert_keras.models import AlbertTextClassifier
from albert_keras.tasks.base import Recipe, Task


@dataclasses.dataclass(frozen=True)
class TextClassificationTask(Task):
    """One label for one text.

    Args:
        text_column: str. Column with the text.
        label_column: str. Column with the label.
        labels: Tuple of label names in the order of the logits, or None to take those
            of the training file, sorted.
        recipe: `Recipe`.
        preprocessor: `keras_hub.models.TextClassifierPreprocessor`, set by `for_run`.

    Example:

    ```python
    task = TextClassificationTask(text_column="review")
    rows = task.read("train.csv")
    task = task.for_run(rows, preprocessor)
    model = task.build_model(backbone)
    ```
    """

    text_column: str = "text"
    label_column: str = "label"
    labels: tuple | None = None
    recipe: Recipe = Recipe()
    preprocessor: object = None

    def read(self, path):
        """Returns the `LabelledTexts` of a TSV, CSV or JSONL file."""
        return read_labelled_texts(path, self.text_column, self.label_column)

    def with_columns(self, text_column=None, label_column=None):
        """Returns the task for files with other column names, where given."""
        return dataclasses.replace(
            self,
            text_column=text_column or self.text_column,
            label_column=label_column or self.label_column,
        )

    def for_run(self, rows, preprocessor, labels=None):
        """Returns the task with its labels and preprocessor fixed.

        Args:
            rows: `LabelledTexts` of the training file.
            preprocessor: `keras_hub.models.TextClassifierPreprocessor`.
            labels: Sequence of label names of an earlier run, or None for the task's
                own, or else those of `rows`.

        Raises:
            ValueError: If the training file has fewer than two labels.
        """
        labels = tuple(labels or self.labels or sorted(set(rows.labels)))
        if len(labels) < 2:
            raise ValueError(
                "Classification needs at least two labels. "
                f"Received: labels={', '.join(labels)}."
            )
        return dataclasses.replace(self, labels=labels, preprocessor=preprocessor)

    def build_model(self, backbone):
        """Returns an `AlbertTextClassifier` with a fresh head and no preprocessor."""
        return AlbertTextClassifier(
            backbone, len(self.labels), dropout=self.recipe.dropout
        )

    def make_dataset(self, source, batch_size, *, seed=None, start_step=0):
        """Returns batches of `LabelledTexts`; see `labelled_dataset`."""
        return labelled_dataset(
            source.texts,
            label_ids(source.labels, self.labels),
            self.preprocessor,
            batch_size,
            seed=seed,
            start_step=start_step,
        )

    def losses(self):
        """Returns the cross-entropy."""
        return keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def metrics(self):
        """Returns the accuracy."""
        return [keras.metrics.SparseCategoricalAccuracy(name="accuracy")]

    def evaluate(self, model, rows, batch_size):
        """Measures a model on labelled texts.

        Args:
            model: `AlbertTextClassifier` without preprocessor; compiled anew here.
            rows: `LabelledTexts`.
            batch_size: int.

        Returns:
            Dict: `loss`, `accuracy`, `majority_accuracy` (of always answering the
            commonest label of these rows) and `num_examples`.
        """
        model.compile(loss=self.losses(), metrics=self.metrics())
        dataset = self.make_dataset(rows, batch_size)
        logs = model.evaluate(dataset, return_dict=True, verbose=0)
        return {
            "loss": logs["loss"],
            "accuracy": logs["accuracy"],
            "majority_accuracy": majority_accuracy(rows),
            "num_examples": len(rows.labels),
        }


def majority_accuracy(rows):
    """Returns the share of the commonest label in `LabelledTexts`."""
    commonest = max(rows.labels.count(label) for label in set(rows.labels))
    return commonest / len(rows.labels)
