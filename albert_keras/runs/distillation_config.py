"""Configuration of a distillation run."""

import dataclasses

from albert_keras.config import MAX_DEPTH, SHARING
from albert_keras.options import Options, Range, check_unused, given_of, option
from albert_keras.presets.hub import known_names
from albert_keras.runs.finetuning_config import ROW_FIELDS, FinetuningRunConfig
from albert_keras.runs.pretraining_config import PretrainingRunConfig
from albert_keras.runs.training import TrainingOptions
from albert_keras.tasks import TASKS

# Options of the losses. The distillers have their defaults.
LOSS_OPTIONS = ("temperature", "label_weight", "soft_weight", "state_weight")
# Options whose default is the value of the teacher's run. In a group this is so only if
# neither of the first two is set.
INHERITED = (
    *("task", "task_options", *ROW_FIELDS, "sequence_length", "pad_to_maximum"),
    *("batch_size", "learning_rate", "dropout", "classifier_dropout"),
    *("weight_decay", "layer_decay"),
)
INHERITED_GROUPS = (
    ("data", "train", "validation", "validation_split"),
    ("num_steps", "num_epochs", "warmup_steps"),
)
# Options without effect for a pretrained teacher.
_OF_TASKS = (
    *("task", "task_options", "train", "validation_split", "num_epochs"),
    *("dropout", "classifier_dropout", "patience", "freeze"),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class StudentOptions(Options):
    """The teacher, the student's size, and the losses."""

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
class DistillationRunConfig(StudentOptions, FinetuningRunConfig):
    """Configuration of a `DistillationRun`.

    Defaults, from the task to the learning rate, are those of the teacher's run. For a
    pretrained teacher `data` and `validation` are folders of `prepare-data`, and defaults
    are those of the recipe `adapt`.

    Example:

    ```python
    config = DistillationRunConfig(run="runs/fast", teacher="runs/sst2", num_layers=6)
    ```
    """

    task: str | None = option(
        "name of the task (default: the teacher's)", None, choices=TASKS
    )
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
        """Returns the configuration with defaults from a teacher's run.

        Args:
            description: Dict, the `run.json` of the teacher.
            num_layers: int. Number of layers of the teacher.
        """
        taught, names = description["config"], [*INHERITED]
        for first, second, *others in INHERITED_GROUPS:
            if getattr(self, first) is None and getattr(self, second) is None:
                names += [first, second, *others]
        fields = type(self).__dataclass_fields__
        changes = {
            name: taught[name]
            for name in names
            if name in taught and getattr(self, name) == _default_of(fields[name])
        }
        if "task_options" in changes:
            # A teacher with exits teaches at full depth.
            changes["task_options"] = {
                name: value
                for name, value in changes["task_options"].items()
                if name != "early_exit"
            }
        return dataclasses.replace(self, **changes)._with_start(num_layers)

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
        started = self._with_start(num_layers)
        options = {
            field.name: getattr(started, field.name)
            for kind in (TrainingOptions, StudentOptions)
            for field in dataclasses.fields(kind)
        }
        if self.sequence_length:
            options["data_options"] = {"sequence_length": self.sequence_length}
        return WordDistillationConfig(
            **options,
            checkpoint=started.checkpoint,
            data=self.data,
            validation_data=self.validation,
        )

    def _with_start(self, num_layers):
        """Returns the configuration with a checkpoint, by default half of the teacher."""
        if self.checkpoint is not None:
            return self
        num_layers = self.num_layers or max(1, num_layers // 2)
        return dataclasses.replace(self, checkpoint=self.teacher, num_layers=num_layers)


@dataclasses.dataclass(frozen=True, kw_only=True)
class WordDistillationConfig(StudentOptions, PretrainingRunConfig):
    """Configuration of a `WordDistillationRun`, as recorded in `run.json`."""


def _default_of(field):
    is_made = field.default is dataclasses.MISSING
    return field.default_factory() if is_made else field.default
