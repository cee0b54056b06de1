"""Distillation of a pretrained teacher, on the masked words of prepared data."""

import dataclasses

from albert_keras.compression import MaskedWordsDistiller
from albert_keras.converters import change_architecture, load_checkpoint
from albert_keras.pretraining import PretrainingTask
from albert_keras.runs.pretraining import PretrainingRun
from albert_keras.runs.starting_models import PretrainingStart
from albert_keras.tokenizers import load_tokenizer


class WordDistillationRun(PretrainingRun):
    """Trains a student of a pretrained model, by masked words alone.

    The run and its model are ordinary ones of pretraining, without sentence pairs.
    """

    def make_start(self):
        """Returns a `StudentStart`; vocabularies that differ are a ValueError."""
        check_same_vocabulary(self.tokenizer, self.config.teacher)
        return StudentStart(self.config)

    def make_task(self):
        """Returns the task of masked words, whose model is a distiller."""
        return DistilledWordsTask()


@dataclasses.dataclass(frozen=True)
class DistilledWordsTask(PretrainingTask):
    """Masked words of a student, in batches for a `MaskedWordsDistiller`.

    What is measured and kept is the student.
    """

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


class StudentStart(PretrainingStart):
    """The shape of a student, and its first weights, those of its checkpoint."""

    def __init__(self, config):
        self.config, self.precision = config, config.precision
        checkpoint = load_checkpoint(config.checkpoint, head="pretraining")
        self.checkpoint = change_architecture(checkpoint, **config.changes())
        self.shape = self.checkpoint.backbone.albert_config

    def build(self, task):
        """Returns the distiller; call it inside a strategy's scope."""
        teacher = load_checkpoint(self.config.teacher, head="pretraining")
        return MaskedWordsDistiller(
            super().build(task), teacher, **self.config.loss_options()
        )


def check_same_vocabulary(tokenizer, teacher):
    """Raises a ValueError if a student's tokenizer gives other ids than its teacher's.

    `teacher` is a run, preset, folder, address or name.
    """
    fingerprints = tokenizer.fingerprint(), load_tokenizer(teacher).fingerprint()
    if fingerprints[0] != fingerprints[1]:
        raise ValueError(
            "Student and teacher must read the same token ids. Received: vocabularies of "
            f"fingerprints {fingerprints[0]} (student) and {fingerprints[1]} (teacher). "
            "Start from a model with the teacher's."
        )
