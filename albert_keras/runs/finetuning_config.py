"""Configuration of a fine-tuning run."""

import copy
import dataclasses
from collections.abc import Mapping

from albert_keras.compression.early_exit import RULES, ExitRule
from albert_keras.config import ATTENTION_FIELDS, MAX_POSITIONS
from albert_keras.options import BATCH_SIZES, Options, Range, check_unused, option
from albert_keras.presets.hub import known_names
from albert_keras.runs.training import TrainingOptions, changed_fields
from albert_keras.tasks import TASKS
from albert_keras.text import ENCODING_ERRORS
from albert_keras.text.text_files import Decoding

# Value of `learning_rate` that tries three rates.
SWEEP = "sweep"

FROZEN = ("embeddings", "backbone")

# Share of the training rows to hold out, of files that are large enough.
DEFAULT_SPLIT = 0.1

# Examples of a batch in evaluation and prediction.
BATCH_SIZE = 32

# Suffixes of files with columns, where texts can also be read from lines.
TABLES = (".csv", ".tsv", ".jsonl", ".json")

# Fields of `RowOptions` for tables, and the fields of `Columns` that they set.
COLUMNS = {
    "text_column": "text",
    "pair_column": "pair",
    "label_column": "label",
    "label_separator": "label_separator",
    "skip_broken": "skips_broken",
}


def _task_options():
    """Returns the options of all tasks by their names."""
    options = {}
    for task in TASKS.values():
        for field in dataclasses.fields(task):
            if "help" not in field.metadata:
                continue
            known = options.setdefault(field.name, copy.copy(field))
            if getattr(task, field.name) != known.default:
                about = f"{field.metadata['help']} (default: that of the task)"
                known.metadata = {**field.metadata, "help": about}
    return options


TASK_OPTIONS = _task_options()


@dataclasses.dataclass(frozen=True, kw_only=True)
class BatchOptions(Options):
    """Batches."""

    batch_size: int = option("examples per batch", BATCH_SIZE, BATCH_SIZES)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExitOptions(Options):
    """Early exit: the rule of a model with exits, instead of the calibrated one."""

    exit_rule: str | None = option(
        "rule for a model with exits (default: the calibrated one)", None, choices=RULES
    )
    exit_threshold: float | None = option(
        "probability at which rows leave; for a regression the difference",
        None,
        Range(above=0, maximum=1000),
    )
    exit_patience: int = option(
        "consecutive depths that must agree", ExitRule.patience, Range(1, 1000)
    )
    exit_min_depth: int = option(
        "smallest depth at which rows leave", ExitRule.min_depth, Range(1, 1000)
    )

    def rule(self):
        """Returns the `ExitRule`, or `None` for the calibrated one."""
        if self.exit_rule is None:
            given = dict(vars(self).items() - vars(ExitOptions()).items())
            check_unused(given, given, "the calibrated rule, only with --exit-rule")
            return None
        return ExitRule(
            self.exit_rule, self.exit_threshold, self.exit_patience, self.exit_min_depth
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class CalibrationOptions(Options):
    """Error budget of the calibration of exits."""

    max_changed: float = option(
        "share of answers that may change", 0.01, Range(above=0, below=1)
    )
    confidence: float = option(
        "confidence of the upper bound of that share", 0.95, Range(above=0, below=1)
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class RowOptions(Options):
    """Files of rows: how to read them, if it differs from the task."""

    text_column: str | None = option("column of the text (default: the task's)", None)
    pair_column: str | None = option(
        "column of the second text (default: the task's)", None
    )
    label_column: str | None = option("column of the label (default: the task's)", None)
    label_separator: str | None = option(
        "separator of the labels in a cell, for multi-label tasks (default: |)", None
    )
    skip_broken: bool = option(
        "leave out rows that have no text or label, or cannot be read", False
    )
    encoding: str = option("encoding of files, such as cp1252 or gb18030", "utf-8")
    errors: str = option(
        "invalid bytes: strict, an error; replace, by U+FFFD",
        "strict",
        choices=ENCODING_ERRORS,
    )

    def applied_to(self, task, name):
        """Returns a task that reads files by these options.

        Args:
            task: `FinetuningTask`.
            name: str. Name of the task or its model, for errors.
        """
        values = {column: getattr(self, name) for name, column in COLUMNS.items()}
        given = {column: value for column, value in values.items() if value}
        if not hasattr(task, "columns"):
            check_unused(vars(self), COLUMNS, f"{name}, which reads no tables of texts")
        elif given:
            task = task.with_columns(**given)
        return dataclasses.replace(task, decoding=self.decoding)

    @property
    def decoding(self):
        """The `Decoding` of files."""
        return Decoding(self.encoding, self.errors)


@dataclasses.dataclass(frozen=True, kw_only=True)
class RecipeOptions(Options):
    """Recipe and selection."""

    validation_split: float | None = option(
        "share of the training rows to hold out, without --validation (default: "
        f"{DEFAULT_SPLIT} if there are at least 100 different texts)",
        None,
        Range(0, 0.9),
    )
    num_epochs: int | None = option(
        "passes over the rows (default: the recipe's)", None, Range(1, 10_000)
    )
    sequence_length: int | None = option(
        "maximum number of tokens (default: the recipe's)",
        None,
        Range(1, MAX_POSITIONS),
    )
    dropout: float | None = option(
        "dropout in the encoder (default: the recipe's)", None, Range(0, below=1)
    )
    classifier_dropout: float | None = option(
        "dropout before the head (default: the recipe's)", None, Range(0, below=1)
    )
    keep: str = option("checkpoint to keep", "best", choices=("best", "last"))
    metric: str | None = option(
        "score that chooses the checkpoint (default: the first reported)", None
    )
    patience: int | None = option(
        "evaluations without improvement before the run ends", None, Range(1, 10_000)
    )
    seeds: int = option("number of runs, with seeds from --seed on", 1, Range(1, 1000))


@dataclasses.dataclass(frozen=True, kw_only=True)
class FinetuningRunConfig(RecipeOptions, TrainingOptions, RowOptions):
    """Configuration of a `FinetuningRun`.

    None stands for the value of the task's recipe (for the paper's tasks, its table 14).

    Example:

    ```python
    config = FinetuningRunConfig(
        run="runs/reviews", task="text-classification", checkpoint="albert_nano_en",
        train="reviews.csv", validation="more.csv", task_options={"long_texts": "tail"}
    )
    ```
    """

    kind = "finetuning"

    task: str = option("name of the task", choices=TASKS)
    checkpoint: str = option(
        "model to start from: run, preset, Google or Hugging Face folder, address "
        f"(hf://USER/MODEL), or name ({known_names()})"
    )
    data: str | None = option(
        "folder in the task's layout, or `tfds` (default: none, see --train)", None
    )
    train: str | None = option("file of training rows (default: that of --data)", None)
    validation: str | None = option(
        "file of held-out rows (default: that of --data, else see --validation-split)",
        None,
    )
    learning_rate: float | str | None = option(
        "peak learning rate, or `sweep`: the best of three on a tenth of the training "
        "rows (default: the recipe's; a greater one for narrow models)",
        None,
        Range(above=0, maximum=100),
        words=(SWEEP,),
    )
    random_weights: bool = option(
        "use only architecture and tokenizer of the checkpoint, as a baseline", False
    )
    task_options: Mapping = option(
        "fields of the task that differ from its own", members=TASK_OPTIONS
    )
    model_options: Mapping = option(
        "fields of `AlbertConfig` that differ from the checkpoint's",
        members=changed_fields(("num_layers", *ATTENTION_FIELDS), "the checkpoint's"),
    )
    layer_decay: float | None = option(
        "factor of the learning rate from a layer to the one below (default: 0.9 for "
        "trained models narrower than 768, else 1)",
        None,
        Range(above=0, maximum=1),
    )
    freeze: str | None = option("part that is not trained", None, choices=FROZEN)
    pad_to_maximum: bool = option(
        "pad all examples to --sequence-length, instead of batches of similar length",
        False,
    )
    restarts: int = option(
        "restarts if all rows get one answer, each at half the rate", 0, Range(0, 100)
    )
    collapse_guard: bool = option(
        "stop a run whose model gives the same answer to all rows", True
    )
