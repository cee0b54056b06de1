"""Distillation of a pretrained teacher, on the masked words of prepared data."""

import dataclasses

from albert_keras.compression import MaskedWordsDistiller
from albert_keras.converters import change_architecture, load_checkpoint
from albert_keras.models import AlbertBackbone, AlbertPretrainer
from albert_keras.pretraining import PretrainingTask
from albert_keras.runs.pretraining import PretrainingRun
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


class StudentStart:
    """The shape of a student, and its first weights.

    It takes over all weights of its checkpoint that have the same shape: all of them in
    a student of the same width; of a narrower one its tables, and the bias of the
    masked-word head.
    """

    def __init__(self, config):
        self.config = config
        checkpoint = load_checkpoint(config.checkpoint, head="pretraining")
        self.checkpoint = change_architecture(checkpoint, **config.changes())
        self.shape = self.checkpoint.backbone.albert_config
        if config.hidden_dim is not None:
            self.shape = self.shape.with_width(config.hidden_dim)

    def build(self, task):
        """Returns the distiller; call it inside a strategy's scope."""
        config = self.config
        backbone = AlbertBackbone(**self.shape.to_dict(), dtype=config.precision)
        student = AlbertPretrainer(backbone, num_pair_classes=0)
        values = {variable.path: variable for variable in self.checkpoint.weights}
        for variable in student.weights:
            value = values.get(variable.path)
            if value is not None and value.shape == variable.shape:
                variable.assign(value)
        teacher = load_checkpoint(config.teacher, head="pretraining")
        return MaskedWordsDistiller(student, teacher, **config.loss_options())


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
