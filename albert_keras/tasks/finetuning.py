"""Base class of fine-tuning tasks: rows, examples, a model, predictions, scores."""

import abc
import dataclasses
from typing import Any, ClassVar, NamedTuple

import numpy as np

from albert_keras.options import check_fields
from albert_keras.presets.preset_files import read_object, registered_class
from albert_keras.tasks.metrics import check_finite_outputs, entropy
from albert_keras.tasks.recipe import Recipe
from albert_keras.text import (
    evaluation_batches,
    join_batches,
    make_buckets,
    one_bucket,
    training_dataset,
)
from albert_keras.text.text_files import UTF_8, Decoding

# Prediction keeps no gradients, so that larger batches fit.
_EVALUATION_FACTOR = 2


class PreparedRows(NamedTuple):
    """Rows as `FinetuningTask.read` returns them, and the `Examples` made from them.

    `details` are data of the task that map predictions for examples to rows.
    """

    rows: Any
    examples: Any
    details: Any = None


@dataclasses.dataclass(frozen=True)
class FinetuningTask(abc.ABC):
    """A task on labelled text: files to rows, to examples, to a model, to scores.

    A new kind of task is a frozen dataclass with `read`, `prepare`, `build_model`,
    `score`, `describe` and `rows_of`, and an entry in `TASKS`. The defaults of the other
    methods are for examples with an array `labels`, maybe one of `label_weights`, and a
    model with one output an example. Fields declared by `option` are command-line
    options. README.md shows the use of a task.

    Args:
        recipe: `Recipe`.
        files: Dict from `train`, `validation` and `test` to the files of the official
            folder; further entries are further evaluation sets.
        tfds_name: str, or None. Name of the data set in TensorFlow Datasets.
        tfds_splits: Dict from `train` and `validation` to splits of that data set.
            Default None: named like `files`, with `validation` for `dev`.
        decoding: `Decoding` of files. Default: UTF-8, of which all must be valid.
        tokenizer: A tokenizer of this package, set by `for_run`.
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
    decoding: Decoding = UTF_8
    tokenizer: Any = None

    # Score by which the best checkpoint is chosen, and its maximum.
    main_metric: ClassVar[str] = "accuracy"
    perfect_score: ClassVar[float] = 1.0
    # Suffixes of files with a row for each row of predictions.
    tables: ClassVar[tuple] = (".jsonl",)
    # Fields that `for_run` sets and `run.json` records.
    facts: ClassVar[tuple] = ()

    def __post_init__(self):
        check_fields(self)

    # === To write for a new kind of task ===

    @abc.abstractmethod
    def read(self, source, *, needs_labels=True):
        """Returns the rows of a file, or of `"tfds:NAME:SPLIT"`.

        Rows without labels are an error if it `needs_labels`.
        """

    @abc.abstractmethod
    def prepare(self, rows, *, training=False):
        """Returns `PreparedRows`: rows that are tokenized and packed once."""

    @abc.abstractmethod
    def build_model(self, backbone):
        """Returns the task's Keras model on a backbone, with a new head."""

    @abc.abstractmethod
    def score(self, prepared, predictions):
        """Returns a dict of scores of predictions for labelled rows."""

    @abc.abstractmethod
    def describe(self, prepared, predictions):
        """Returns a list of dicts for JSON, one a row.

        `albert-keras predict` prints `text` of each, and where they exist `text_pair`,
        `label`, `probabilities` (a dict by label) and `logits`.
        """

    @abc.abstractmethod
    def rows_of(self, samples):
        """Returns rows without labels of samples, texts or tuples.

        The parts of a single sample may be given without the tuple.
        """

    # === Defaults ===

    def for_run(self, rows, tokenizer, **facts):
        """Returns the task with a tokenizer, and the fields that training rows set.

        Those are taken from `facts` instead, if `run_facts` of an earlier run gave them.
        """
        return dataclasses.replace(self, tokenizer=tokenizer, **facts)

    def learner_of(self, model):
        """Returns the Keras model whose `fit` trains `model`. Default: that itself."""
        return model

    def run_facts(self):
        """Returns the fields that `run.json` records, a dict."""
        return {name: getattr(self, name) for name in self.facts}

    def features(self, batch):
        """Returns the model inputs of a batch, for prediction."""
        names = ("token_ids", "segment_ids", "padding_mask")
        return {name: batch[name] for name in names}

    def assemble(self, batch):
        """Returns inputs, labels and maybe weights of a batch of examples, for `fit`."""
        weights = [batch["label_weights"]] if "label_weights" in batch else []
        return (self.features(batch), batch["labels"], *weights)

    def losses(self):
        """Returns a Keras loss, a dict by output, or "auto" for the model's own."""
        import keras

        return keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def metrics(self):
        """Returns a list of Keras metrics, or a dict by output. Default: accuracy."""
        import keras

        return [keras.metrics.SparseCategoricalAccuracy(name="accuracy")]

    def predict(self, model, prepared, batch_size):
        """Returns predictions. Default: finite outputs, float32 `(num_rows, ...)`."""
        outputs = self.example_outputs(model, prepared.examples, batch_size)
        predictions = outputs.astype(np.float32)
        check_finite_outputs(predictions)
        return predictions

    def text_keys(self, rows):
        """Returns a hashable of each row's text, to find equal texts in two files."""
        return list(getattr(rows, "texts", rows))

    def split_keys(self, rows):
        """Returns a hashable of each row; rows with equal ones are held out together."""
        return self.text_keys(rows)

    def prior_loss(self, prepared):
        """Returns the loss of the best constant answer, in nats: the labels' entropy."""
        arrays = prepared.examples.example_arrays | prepared.examples.token_arrays
        return entropy(np.bincount(arrays["labels"], arrays.get("label_weights")))

    def load_model(self, folder):
        """Returns the model in the preset folder of a finished run."""
        read_object(folder, "task.json")
        return registered_class(folder, "task.json").from_preset(str(folder))

    def servable(self, model):
        """Returns a model as it is saved, with a preprocessor if there is one."""
        return model

    def has_submission(self, path):
        """Returns whether a path's name is of the format of the task's server or script.

        A task that has one writes it by `write_submission(path, prepared, predictions)`.
        """
        return False

    def notes(self, prepared):
        """Returns log messages about the prepared training set, a list of str."""
        return []

    def fitted(self, prepared, predictions):
        """Returns a copy with parameters tuned on validation predictions."""
        return self

    def report(self, prepared, predictions):
        """Returns details on predictions for `report.json`, a dict."""
        return {}

    def truths(self, rows):
        """Returns what may be predicted for each labelled row, lists of str.

        They are as `describe` says them, the first one to show.
        """
        return []

    # === Batches ===

    def make_dataset(self, prepared, batch_size, *, seed=0, start_step=0, **batching):
        """Returns endless training batches; see `training_dataset`.

        Args:
            prepared, batch_size, **batching: As for `buckets`.
            seed: int. Seed of the order. Default 0.
            start_step: int. Number of batches to skip. Default 0.
        """
        buckets = self.buckets(prepared, batch_size, **batching)
        return training_dataset(
            prepared.examples, buckets, self.assemble, seed, start_step
        )

    def buckets(self, prepared, batch_size, *, by_length=True, multiple=1):
        """Returns the `LengthBuckets` of training batches.

        Args:
            prepared: `PreparedRows`.
            batch_size: int. Examples of a batch, on average.
            by_length: bool. Whether a batch has examples of similar length; otherwise
                all are padded to the recipe's length. Default True.
            multiple: int. Divisor of the batches' numbers of examples. Default 1.
        """
        longest = self.recipe.sequence_length
        if not by_length:
            return one_bucket(longest, batch_size)
        lengths = prepared.examples.lengths
        return make_buckets(lengths, longest, batch_size, multiple=multiple)

    def evaluate(self, model, prepared, batch_size):
        """Returns the scores of a model on labelled rows."""
        return self.score(prepared, self.predict(model, prepared, batch_size))

    def example_outputs(self, model, examples, batch_size):
        """Returns the model's outputs for all examples, arrays `(num_examples, ...)`."""
        from keras import tree

        batches = self.outputs(model, examples, batch_size)
        rows, outputs = zip(*batches, strict=True)
        return tree.map_structure(lambda *parts: join_batches(rows, parts), *outputs)

    def outputs(self, model, examples, batch_size):
        """Yields numbers of examples, in batches by length, and the model's outputs.

        A batch has twice as many tokens as in training with the same `batch_size`.
        """
        import keras

        from albert_keras.train_step import infer

        # Other backends compile a program for each shape.
        takes_any_length = keras.config.backend() == "tensorflow"
        num_examples = _EVALUATION_FACTOR * batch_size
        longest = self.recipe.sequence_length
        buckets = make_buckets(examples.lengths, longest, num_examples)
        for rows, length in evaluation_batches(examples.lengths, buckets):
            if takes_any_length:
                length = examples.lengths[rows].max()
            yield rows, infer(model, self.features(examples.padded(rows, length)))
