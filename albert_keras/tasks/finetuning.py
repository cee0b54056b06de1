"""Base class of fine-tuning tasks, and their hyperparameters."""

import abc
import dataclasses
from typing import Any, ClassVar, NamedTuple

import numpy as np

from albert_keras.config import HEAD_DROPOUT
from albert_keras.options import check_fields
from albert_keras.tasks.metrics import check_finite_outputs, entropy
from albert_keras.text import (
    LengthBuckets,
    evaluation_batches,
    join_batches,
    make_buckets,
    training_dataset,
)
from albert_keras.text.text_files import UTF_8, Decoding

# Prediction keeps no gradients, so larger batches fit.
_EVALUATION_FACTOR = 2

# The most epochs by which `least_steps` lengthens a run on a small file.
MANY_EPOCHS = 50


@dataclasses.dataclass(frozen=True)
class Recipe:
    """Hyperparameters of a fine-tuning run.

    Args:
        learning_rate: float. Peak learning rate of AdamW.
        batch_size: int. Examples of a step, on average if batches are by length.
        num_steps: int, or None for `num_epochs` passes over the training rows.
        warmup_steps: int, or None for 6 % of the steps, as for SST-2 in table 14.
        sequence_length: int. Maximum number of tokens of an example.
        num_epochs: int. Used if `num_steps` is None.
        least_steps: int. A run on a small file has more epochs, at most `MANY_EPOCHS`,
            until it has this many steps.
        dropout: float, or None for the checkpoint's. Dropout of hidden values and
            attention.
        classifier_dropout: float. Dropout before the head.
        layer_decay: float. Factor of the learning rate from a layer to the one below.
        starts_from: str, or None. Task whose finished run is the best checkpoint.

    Reference: Lan et al. 2020, table 14.
    """

    learning_rate: float = 2e-5
    batch_size: int = 32
    num_steps: int | None = None
    warmup_steps: int | None = None
    sequence_length: int = 128
    num_epochs: int = 3
    least_steps: int = 1
    dropout: float | None = None
    classifier_dropout: float = HEAD_DROPOUT
    layer_decay: float = 1.0
    starts_from: str | None = None

    def steps_for(self, num_examples):
        """Returns `(num_steps, warmup_steps)` for a training set of `num_examples`."""
        num_steps = self.num_steps
        if num_steps is None:
            most = max(self.num_epochs, MANY_EPOCHS) * num_examples // self.batch_size
            num_steps = self.num_epochs * num_examples // self.batch_size
            num_steps = max(1, num_steps, min(self.least_steps, most))
        warmup_steps = self.warmup_steps
        if warmup_steps is None:
            warmup_steps = round(0.06 * num_steps)
        return num_steps, warmup_steps


def files_of(train, validation, test):
    """Returns the files of a data set by the names of its splits."""
    return {"train": train, "validation": validation, "test": test}


class PreparedRows(NamedTuple):
    """Rows as `FinetuningTask.read` returns them, and the `Examples` made from them.

    `details` are data of the task that map predictions for examples to rows.
    """

    rows: Any
    examples: Any
    details: Any = None


@dataclasses.dataclass(frozen=True)
class FinetuningTask(abc.ABC):
    """A task on labelled text: reads rows, makes examples, builds a model, scores it.

    A new kind of task is a frozen dataclass with `read`, `prepare`, `build_model`,
    `score`, `describe` and `rows_of`, and an entry in `TASKS`. The other methods have
    defaults for examples with an array `labels` and optional `label_weights`, and for a
    model with one output per example. Fields declared by `option` are command-line
    options.

    Args:
        recipe: `Recipe`.
        files: Dict from `train`, `validation` and `test` to the files of the official
            folder; other entries are more evaluation sets.
        tfds_name: str, or None. Name of the data set in TensorFlow Datasets.
        tfds_splits: Dict from `train` and `validation` to splits of that data set.
            Default None: the names of `files`, with `validation` for `dev`.
        decoding: `Decoding` of files. Default: UTF-8, where an invalid byte is an error.
        tokenizer: A tokenizer of this package, set by `for_run`.
    """

    recipe: Recipe = Recipe()
    files: dict = dataclasses.field(
        default_factory=lambda: files_of("train.tsv", "dev.tsv", "test.tsv")
    )
    tfds_name: str | None = None
    tfds_splits: dict | None = None
    decoding: Decoding = UTF_8
    tokenizer: Any = None

    # The score that chooses the best checkpoint, and its maximum.
    main_metric: ClassVar[str] = "accuracy"
    perfect_score: ClassVar[float] = 1.0
    # Suffixes of files whose rows predictions can be written beside.
    tables: ClassVar[tuple] = (".jsonl",)
    # Attributes that are arguments of the model's preprocessor too.
    packing: ClassVar[tuple] = ()
    # Fields that `for_run` sets and `run.json` records.
    facts: ClassVar[tuple] = ()

    def __post_init__(self):
        check_fields(self)

    # === To write for a new kind of task ===

    @abc.abstractmethod
    def read(self, source, *, needs_labels=True):
        """Reads the rows of a file, or of `"tfds:NAME:SPLIT"`.

        With `needs_labels`, rows without labels are an error.
        """

    @abc.abstractmethod
    def prepare(self, rows, *, training=False):
        """Tokenizes and packs rows; returns `PreparedRows`."""

    @abc.abstractmethod
    def build_model(self, backbone):
        """Builds the task's Keras model on a backbone, with a new head."""

    @abc.abstractmethod
    def score(self, prepared, predictions):
        """Returns a dict of scores of predictions for labelled rows."""

    @abc.abstractmethod
    def describe(self, prepared, predictions):
        """Returns a list with a dict of JSON values for each row.

        `albert-keras predict` prints `text`, and if present `text_pair`, `label`,
        `probabilities` (a dict by label) and `logits`.
        """

    @abc.abstractmethod
    def rows_of(self, samples):
        """Returns rows without labels of samples: a list of texts, tuples or dicts."""

    # === Defaults ===

    def for_run(self, rows, tokenizer, **facts):
        """Returns the task with a tokenizer and the fields that training rows set.

        `facts` are these fields if an earlier run has recorded them; see `run_facts`.
        """
        return dataclasses.replace(self, tokenizer=tokenizer, **facts)

    def with_columns(self, **changes):
        """Returns a copy that reads other columns; the arguments are fields of `Columns`.

        Only for tasks that have `columns`.

        >>> from albert_keras.tasks import TASKS
        >>> TASKS["imdb"].with_columns(text="review").columns.text
        'review'
        """
        columns = {n: getattr(self, n, None) for n in ("columns", "tfds_columns")}
        changed = {
            n: dataclasses.replace(c, **changes) for n, c in columns.items() if c
        }
        return dataclasses.replace(self, **changed)

    def learner_of(self, model):
        """Returns the Keras model whose `fit` trains `model`. Default: `model`."""
        return model

    def run_facts(self):
        """Returns the fields that `run.json` records, a dict."""
        return {name: getattr(self, name) for name in self.facts}

    def features(self, batch):
        """Returns the model inputs of a batch, for prediction."""
        names = ("token_ids", "segment_ids", "padding_mask")
        return {name: batch[name] for name in names}

    def assemble(self, batch):
        """Returns inputs, labels and, if there are any, weights of a batch for `fit`."""
        weights = [batch["label_weights"]] if "label_weights" in batch else []
        return (self.features(batch), batch["labels"], *weights)

    def losses(self):
        """Returns a Keras loss, a dict by output, or "auto" for the model's own."""
        return "auto"

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
        """Returns a hashable key for each row's text, to find equal texts."""
        return list(getattr(rows, "texts", rows))

    def split_keys(self, rows):
        """Returns a key for each row; rows with equal keys are held out together."""
        return self.text_keys(rows)

    def prior_loss(self, prepared):
        """Returns the loss of the best constant answer: the labels' entropy, in nats."""
        arrays = prepared.examples.example_arrays | prepared.examples.token_arrays
        return entropy(np.bincount(arrays["labels"], arrays.get("label_weights")))

    def servable(self, model):
        """Returns the model with a preprocessor that packs raw text like the task."""
        options = self.packing_options()
        model.preprocessor = model.preprocessor_cls(self.tokenizer, **options)
        return model

    def packing_options(self):
        """Returns the arguments of the model's preprocessor, besides the tokenizer."""
        options = {name: getattr(self, name) for name in self.packing}
        return {"sequence_length": self.recipe.sequence_length, **options}

    def has_submission(self, path):
        """Returns whether a path names a file for the task's benchmark server or script.

        `write_submission(path, prepared, predictions)` writes it.
        """
        return False

    def notes(self, prepared):
        """Returns messages for the log about the prepared training rows, a list."""
        return []

    def fitted(self, prepared, predictions):
        """Returns a copy with parameters tuned on predictions for held-out rows."""
        return self

    def report(self, prepared, predictions):
        """Returns further fields of `report.json` about predictions, a dict."""
        return {}

    def truths(self, rows):
        """Returns the right answers for each labelled row, lists of str.

        They are spelled as in `describe`. Reports show the first one.
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
            multiple: int. The number of examples of each batch is a multiple of it.
                Default 1.
        """
        longest = self.recipe.sequence_length
        if not by_length:
            # TPUs need a single length.
            return LengthBuckets((longest,), (batch_size,))
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
        """Yields batches by length: the numbers of examples, and the model's outputs.

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
