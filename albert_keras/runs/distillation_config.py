"""Configurations of distillation runs."""

import dataclasses

from albert_keras.config import MAX_DEPTH, SHARING
from albert_keras.options import Options, Range, check_unused, given_of, option
from albert_keras.presets.hub import known_names
from albert_keras.runs.finetuning_config import (
    FinetuningRunConfig,
    RecipeOptions,
    RowOptions,
)
from albert_keras.runs.pretraining_config import PretrainingRunConfig
from albert_keras.runs.training import TrainingOptions

# Options of the losses. The distillers have their defaults.
LOSS_OPTIONS = ("temperature", "label_weight", "soft_weight", "state_weight")
# Options whose default is the value of the teacher's run. In a group this is so only if
# neither of the first two is set.
INHERITED = (
    *("task", "task_options", *RowOptions.__dataclass_fields__, "sequence_length"),
    *("pad_to_maximum", "batch_size", "learning_rate", "dropout"),
    *("classifier_dropout", "weight_decay", "layer_decay"),
)
INHERITED_GROUPS = (
    ("data", "train", "validation", "validation_split"),
    ("num_steps", "num_epochs", "warmup_steps"),
)
# Options without effect for a pretrained teacher.
_OF_TASKS = (
    *("train", "validation_split", "num_epochs", "dropout", "classifier_dropout"),
    *("metric", "patience"),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class StudentOptions(Options):
    """Student: its teacher, its size, and the losses."""

    teacher: str = option(
        "run of `finetune`, a classifier or a regression; or a pretrained model"
    )
    num_layers: int | None = option(
        "applications of layers (default: half of the teacher's)",
        None,
        Range(1, MAX_DEPTH),
    )
    sharing: str | None = option(
        "parameters that the student's layers share; with none each starts as its own "
        "copy (default: as in the model that it starts from)",
        None,
        choices=SHARING,
    )
    temperature: float | None = option(
        "temperature of the soft targets (default: 2)",
        None,
        Range(above=0, maximum=1000),
    )
    label_weight: float | None = option(
        "weight of the labels (default: 0.5; 2 for masked words)", None, Range(0, 1000)
    )
    soft_weight: float | None = option(
        "weight of the logits (default: 0.5; 5 for masked words)", None, Range(0, 1000)
    )
    state_weight: float | None = option(
        "weight of the hidden states (default: 1)", None, Range(0, 1000)
    )

    def changes(self):
        """Returns the arguments of `change_architecture`, a dict."""
        return given_of(self, ("num_layers", "sharing"))

    def loss_options(self):
        """Returns the options of the losses that are set, a dict."""
        return given_of(self, LOSS_OPTIONS)


@dataclasses.dataclass(frozen=True, kw_only=True)
class DistillationRunConfig(StudentOptions, RecipeOptions, TrainingOptions):
    """Configuration of a `DistillationRun`.

    The task, the columns of its files and the recipe are those of the teacher's run, from
    the length to the learning rate if they are not given. For a pretrained teacher `data`
    and `validation` are folders of `prepare-data`, and defaults are those of the recipe
    `adapt`.

    Example:

    ```python
    config = DistillationRunConfig(run="runs/fast", teacher="runs/sst2", num_layers=6)
    ```
    """

    checkpoint: str | None = option(
        "model with the same vocabulary to start from: run, preset, folder, address or "
        f"name ({known_names()}) (default: the teacher)",
        None,
    )
    data: str | None = option(
        "folder in the task's layout, or `tfds` (default: the rows of the teacher's "
        "run); for a pretrained teacher a folder of `prepare-data`",
        None,
    )
    train: str | None = option("file of training rows (default: that of --data)", None)
    validation: str | None = option(
        "file of held-out rows, or folder of held-out data (default: that of --data)",
        None,
    )

    def of_task(self, description, num_layers):
        """Returns the `TaskDistillationConfig` for a fine-tuned teacher.

        Args:
            description: Dict, the `run.json` of the teacher.
            num_layers: int. Number of layers of the teacher.
        """
        taught, names = description["config"], [*INHERITED]
        for first, second, *others in INHERITED_GROUPS:
            if getattr(self, first) is None and getattr(self, second) is None:
                names += [first, second, *others]
        options = {name: taught[name] for name in names if name in taught}
        # A teacher with exits teaches at full depth.
        options["task_options"] = dict(options["task_options"])
        options["task_options"].pop("early_exit", None)
        fields = self.__dataclass_fields__
        for name, value in self._start(num_layers).items():
            if value != fields[name].default:
                options[name] = value
        return TaskDistillationConfig(**options)

    def of_masked_words(self, num_layers):
        """Returns the `WordDistillationConfig` for a pretrained teacher.

        Args:
            num_layers: int. Number of layers of the teacher.

        Raises:
            ValueError: If options of tasks are set, or `data` is not.
        """
        check_unused(vars(self), _OF_TASKS, "a pretrained teacher")
        if self.data is None:
            raise ValueError(
                "The student of a pretrained teacher needs `data`, a folder of "
                f"`prepare-data`. Received: none, teacher='{self.teacher}'."
            )
        length = given_of(self, ["sequence_length"])
        return WordDistillationConfig.from_dict(
            self._start(num_layers),
            data_options=length,
            validation_data=self.validation,
        )

    def _start(self, num_layers):
        """Returns the fields with a checkpoint, by default half of the teacher."""
        if self.checkpoint is not None:
            return vars(self)
        num_layers = self.num_layers or max(1, num_layers // 2)
        return {**vars(self), "checkpoint": self.teacher, "num_layers": num_layers}


@dataclasses.dataclass(frozen=True, kw_only=True)
class TaskDistillationConfig(StudentOptions, FinetuningRunConfig):
    """Configuration of a `TaskDistillationRun`, as recorded in `run.json`."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class WordDistillationConfig(StudentOptions, PretrainingRunConfig):
    """Configuration of a `WordDistillationRun`, as recorded in `run.json`."""
