"""What all tasks share that start from a pretrained model: rows, examples, scores."""

import abc
import dataclasses
from typing import Any, ClassVar, NamedTuple

import keras

from albert_keras.tasks.base import Recipe, Task
from albert_keras.text import (
    evaluation_batches,
    make_buckets,
    one_bucket,
    training_dataset,
)
from albert_keras.train_step import infer

# A step of an evaluation keeps no gradients: more fits in, and the machine is fuller.
_EVALUATION_FACTOR = 2


class PreparedRows(NamedTuple):
    """Rows with the examples that were made of them.

    Attributes:
        rows: What `FinetuningTask.read` returned.
        examples: `Examples`.
        details: What the task needs to get from examples back to rows.
    """

    rows: Any
    examples: Any
    details: Any = None


@dataclasses.dataclass(frozen=True)
class FinetuningTask(Task):
    """A task on labelled text: files to rows, to examples, to a model, to a score.

    Args:
        recipe: `Recipe`.
        files: Dict from `train`, `validation` and `test` to the file's name in a folder
            in the official layout; more entries are more sets to evaluate on.
        tfds_name: str, or None. The data set's name in TensorFlow Datasets.
        tfds_splits: Dict from `train` and `validation` to the splits there; None where
            they are called as `files` are, with `validation` for `dev`.
        tokenizer: A tokenizer of this package, set by `for_run`.

    Example:

    ```python
    task = TASKS["rte"]
    rows = task.read("RTE/train.tsv")
    task = task.for_run(rows, tokenizer)
    model = task.build_model(backbone)
    model.compile(loss=task.losses())
    train = task.prepare(rows, training=True)
    model.fit(task.make_dataset(train, 32, seed=0), steps_per_epoch=77, epochs=3)
    task.evaluate(model, task.prepare(task.read("RTE/dev.tsv")), 32)
    ```
    """

    recipe: Recipe = Recipe()
    files: dict = dataclasses.field(
        default_factory=lambda: {
            "train": "train.tsv",
            "validation": "dev.tsv",
            "test": "test.tsv",
        }
    )
    tfds_name: str | None = None
    tfds_splits: dict | None = None
    tokenizer: Any = None

    # The metric that decides which checkpoint is the best.
    main_metric: ClassVar[str]
    # What it is at best: the official scripts of questions give percent.
    perfect_score: ClassVar[float] = 1.0
    # Which of `run.json`'s entries `for_run` takes again.
    facts: ClassVar[tuple] = ()

    @abc.abstractmethod
    def read(self, source, *, needs_labels=True):
        """Returns the rows of a file, or of `"tfds:NAME:SPLIT"`."""

    @abc.abstractmethod
    def for_run(self, rows, tokenizer, **facts):
        """Returns the task with what it takes from its training rows, and a tokenizer.

        Args:
            rows: Training rows; not used where `facts` of an earlier run say all.
            tokenizer: A tokenizer of this package.
            **facts: What `run_facts` returned in that run.
        """

    def run_facts(self):
        """Returns what a later evaluation must know of a run, as JSON can hold it."""
        return {name: getattr(self, name) for name in self.facts}

    @abc.abstractmethod
    def prepare(self, rows, *, training=False):
        """Returns `PreparedRows`: tokenized and packed once for all epochs."""

    @abc.abstractmethod
    def assemble(self, batch):
        """Returns features, targets and maybe weights of a batch of examples."""

    def features(self, batch):
        """Returns what the model takes of a batch, without targets."""
        return {
            name: batch[name] for name in ("token_ids", "segment_ids", "padding_mask")
        }

    def losses(self):
        """Returns the cross-entropy of classes."""
        return keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def metrics(self):
        """Returns the accuracy."""
        return [keras.metrics.SparseCategoricalAccuracy(name="accuracy")]

    @abc.abstractmethod
    def predict(self, model, prepared, batch_size):
        """Returns the model's predictions for rows, in their order."""

    @abc.abstractmethod
    def score(self, prepared, predictions):
        """Returns what is reported of predictions for labelled rows: a dict."""

    @abc.abstractmethod
    def text_keys(self, rows):
        """Returns a hashable for each row's text, to find rows in two files."""

    @abc.abstractmethod
    def prior_loss(self, prepared):
        """Returns the loss of the best constant answer, which uses no text."""

    @abc.abstractmethod
    def load_model(self, folder):
        """Returns the task's model from the preset folder of a finished run."""

    def servable(self, model):
        """Returns a model as it is saved, with all that it needs to take raw text."""
        return model

    @abc.abstractmethod
    def rows_of(self, texts):
        """Returns rows without labels of texts that a user typed.

        Raises:
            ValueError: If the task needs more than that, or another number.
        """

    @abc.abstractmethod
    def describe(self, prepared, predictions):
        """Returns predictions for people: a list of dicts, as JSON can hold them."""

    def write_submission(self, path, prepared, predictions):
        """Writes predictions as the task's server or script wants them.

        Raises:
            ValueError: If there is no such format.
        """
        raise ValueError(
            "Predictions of this task are written as JSON lines. "
            f"Received: '{path}'. Give a name that ends in .jsonl."
        )

    def notes(self, prepared):
        """Returns what is to be said of training examples: a list of lines."""
        return []

    def fitted(self, prepared, predictions):
        """Returns the task with what is chosen by held-out predictions, if anything."""
        return self

    def report(self, prepared, predictions):
        """Returns what more is to be told of predictions than `score` does, for JSON."""
        return {}

    def make_dataset(
        self,
        prepared,
        batch_size,
        *,
        seed=None,
        start_step=0,
        by_length=True,
        multiple=1,
    ):
        """Returns endless training batches; see `training_dataset`.

        Args:
            prepared: `PreparedRows`.
            batch_size: int. Examples of a batch, on average.
            seed: int, the order's.
            start_step: int. Batches to leave out.
            by_length: bool. Whether examples of like length share a batch; else all are
                padded to the recipe's length.
            multiple: int. What numbers of examples are multiples of.
        """
        buckets = self.buckets(
            prepared, batch_size, by_length=by_length, multiple=multiple
        )
        return training_dataset(
            prepared.examples, buckets, self.assemble, seed or 0, start_step
        )

    def buckets(self, prepared, batch_size, *, by_length=True, multiple=1):
        """Returns the `LengthBuckets` of `make_dataset`'s batches."""
        length = self.recipe.sequence_length
        if not by_length:
            return one_bucket(length, batch_size)
        return make_buckets(
            prepared.examples.lengths, length, batch_size, multiple=multiple
        )

    def evaluate(self, model, prepared, batch_size):
        """Returns the scores of a model on labelled rows."""
        return self.score(prepared, self.predict(model, prepared, batch_size))

    def outputs(self, model, examples, batch_size):
        """Yields the rows of examples, by length, and a model's outputs for them.

        Args:
            model: Keras model.
            examples: `Examples`.
            batch_size: int. Examples of a training batch; twice as many tokens make one
                here.
        """
        buckets = make_buckets(
            examples.lengths,
            self.recipe.sequence_length,
            _EVALUATION_FACTOR * batch_size,
        )
        for rows, length in evaluation_batches(examples.lengths, buckets):
            yield rows, infer(model, self.features(examples.padded(rows, length)))
