"""Distillation runs: students of fine-tuned and pretrained teachers."""

import dataclasses

from albert_keras.compression import MaskedWordsDistiller, TaskDistiller
from albert_keras.converters import change_architecture, load_checkpoint, load_config
from albert_keras.pretraining import PretrainingTask
from albert_keras.runs.finetuning import FinetuningRun
from albert_keras.runs.finetuning_config import FinetuningRunConfig
from albert_keras.runs.folder import RunFolder, describe_run
from albert_keras.runs.inference import load_finetuned
from albert_keras.runs.pretraining import PretrainingRun
from albert_keras.runs.training import check_fits
from albert_keras.tasks import TextClassificationTask, TextRegressionTask
from albert_keras.tokenizers import load_tokenizer

# Tasks whose models `TaskDistiller` takes.
_TAUGHT = (TextClassificationTask, TextRegressionTask)


class DistillationRun:
    """Trains a student of any teacher in a run folder, or resumes a run there.

    The object is the `TaskDistillationRun` or the `WordDistillationRun` of the teacher.

    Example:

    ```python
    run = DistillationRun(ak.runs.DistillationRunConfig(
        run="runs/sst2_fast", teacher="runs/sst2", num_layers=6
    ))
    run.fit()["accuracy"]
    ```
    """

    def __new__(cls, config):
        taught = describe_run(config.teacher)
        depth = load_config(config.teacher).num_layers
        if taught.get("kind") == FinetuningRunConfig.kind:
            return TaskDistillationRun(config.of_task(taught, depth))
        return WordDistillationRun(config.of_masked_words(depth))


class TaskDistillationRun(FinetuningRun):
    """Trains a student of a fine-tuned classifier or regression on rows of its task.

    The run and its model are like any other of this task, without exits. Results have the
    teacher's scores as `teacher`.
    """

    def __init__(self, config):
        super().__init__(config)
        self.taught = RunFolder(config.teacher).read()
        # The same rows are held out as in the teacher's run.
        self.split_seed = self.taught["config"]["seed"]

    def prepare(self):
        super().prepare()
        check_same_vocabulary(self.task.tokenizer, self.config.teacher)

    def configure_task(self):
        """Returns the task with the labels of the teacher."""
        task = super().configure_task()
        if type(task) not in _TAUGHT:
            raise ValueError(
                "A teacher must predict one label or one number. Received: "
                f"'{self.config.teacher}' of the task {self.config.task}."
            )
        return dataclasses.replace(task, **{n: self.taught[n] for n in task.facts})

    def load_backbone(self):
        """Loads the student's backbone, and changes its number of layers or sharing."""
        return change_architecture(super().load_backbone(), **self.config.changes())

    def make_learner(self):
        """Returns the distiller. A student that starts as the teacher gets its head."""
        config = self.config
        teacher = load_finetuned(config.teacher).model
        shape = teacher.backbone.albert_config
        check_fits(self.task.tokenizer, shape, self.recipe.sequence_length)
        if config.checkpoint == config.teacher:
            self.model.output_dense.set_weights(teacher.output_dense.get_weights())
        return TaskDistiller(self.model, teacher, **config.loss_options())

    def training_dataset(self, step):
        return super().training_dataset(step).map(self.learner.with_targets)

    def guards(self):
        """Returns none, because the collapse guard judges a loss of labels alone."""
        return {}

    def report(self):
        """Evaluates and saves the student; returns its scores and the teacher's."""
        results = super().report()
        if held_out := self.held_out.get("validation"):
            results["teacher"] = self.task.evaluate(
                self.learner.teacher, held_out, self.recipe.batch_size
            )
        return results


class WordDistillationRun(PretrainingRun):
    """Trains a student of a pretrained model on masked words alone.

    The run and its model are like any other of pretraining without sentence pairs.
    """

    def load_start(self):
        """Returns the `AlbertConfig` of the student and its checkpoint's model."""
        check_same_vocabulary(self.tokenizer, self.config.teacher)
        checkpoint = load_checkpoint(self.config.checkpoint, head="pretraining")
        checkpoint = change_architecture(checkpoint, **self.config.changes())
        return checkpoint.backbone.albert_config, checkpoint

    def build_model(self, shape, checkpoint):
        """Builds the distiller."""
        student = super().build_model(shape, checkpoint)
        teacher = load_checkpoint(self.config.teacher, head="pretraining")
        return MaskedWordsDistiller(student, teacher, **self.config.loss_options())

    def make_task(self):
        """Returns the task of masked words for a distiller."""
        return DistilledWordsTask()


@dataclasses.dataclass(frozen=True)
class DistilledWordsTask(PretrainingTask):
    """Masked words for a `MaskedWordsDistiller`, whose student is evaluated and saved."""

    sentence_pairs: str = "none"

    def make_dataset(self, source, batch_size, **options):
        """Returns endless batches for training; see `PretrainingTask.make_dataset`."""
        batches = super().make_dataset(source, batch_size, **options)
        return batches.map(MaskedWordsDistiller.with_targets)

    def make_validation_dataset(self, source, batch_size, *, shard=None):
        """Returns batches of one pass; see `pretraining_validation_dataset`."""
        batches = super().make_validation_dataset(source, batch_size, shard=shard)
        return batches.map(MaskedWordsDistiller.with_targets)

    def evaluate(self, model, source, batch_size, *, shard=None):
        """Evaluates the student of a distiller; see `PretrainingTask.evaluate`."""
        task = PretrainingTask(self.sentence_pairs)
        return task.evaluate(model.student, source, batch_size, shard=shard)

    def finished_model(self, model, tokenizer):
        """Returns the student, ready for text."""
        return super().finished_model(model.student, tokenizer)


def check_same_vocabulary(tokenizer, teacher):
    """Raises a ValueError if a student's tokenizer is another than its teacher's.

    `teacher` is a run, preset, folder, address or name.
    """
    fingerprints = tokenizer.fingerprint(), load_tokenizer(teacher).fingerprint()
    if fingerprints[0] != fingerprints[1]:
        raise ValueError(
            "Student and teacher must read the same token ids. Received: fingerprints "
            f"{' and '.join(fingerprints)}. Start from a model with the teacher's."
        )
