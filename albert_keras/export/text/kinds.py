"""Registry of the kinds of models that answer raw text, and their tasks."""

import dataclasses

from albert_keras.checks import check_json
from albert_keras.export import signatures
from albert_keras.export.text.choices import Choices
from albert_keras.export.text.masked_words import MaskedWords
from albert_keras.export.text.questions import Questions
from albert_keras.export.text.tagging import Tagging
from albert_keras.tasks import (
    MultiLabelTask,
    TextClassificationTask,
    TextRegressionTask,
)
from albert_keras.tasks.masked_words import MaskedWordsTask
from albert_keras.tasks.prediction import task_of
from albert_keras.tokenizers.loading import check_vocabulary_size


class Texts:
    """Labels or scores of long texts, which a task does not cut at their beginnings.

    A graph of text keeps the first tokens. The task of a model of ids can keep others, or
    cut windows and average their outputs.
    """

    stored = {"labels": None, "several_labels": bool}  # noqa: RUF012
    ids = {"sequence_length": int, "long_texts": str}  # noqa: RUF012

    def task(self, labels, several_labels):
        """Returns the task of answers, without a tokenizer."""
        if labels is None:
            return TextRegressionTask()
        check_json({"labels": labels}, {"labels": [str]}, "the file of a task")
        kind = MultiLabelTask if several_labels else TextClassificationTask
        return kind(labels=tuple(labels))


# Kinds of `ExportSpec`s by their names, which `TASK_FILE` has too. Text classifiers,
# embedders and backbones have none: their outputs need no task.
TEXT_KINDS = {
    "masked_words": MaskedWords(),
    "choices": Choices(),
    "tagging": Tagging(),
    "questions": Questions(),
}
# Kinds of models of ids.
IDS_KINDS = {**TEXT_KINDS, "texts": Texts()}


def task_to_export(spec, task=None, tokenizer=None, sequence_length=None):
    """Returns the task of a graph of text, or that makes the ids for a graph of ids.

    Args:
        spec: `ExportSpec`.
        task: Task of the model. Default: that of its preprocessor.
        tokenizer: A tokenizer of this package. Default: that of the task or preprocessor.
        sequence_length: int. Default: the task's, or for masked words all positions.

    Returns:
        The task with tokenizer and length; `None` if there is no tokenizer, or if texts
        are only packed from their beginnings.

    Raises:
        ValueError: If the model has no embedding for some tokens, or a length is invalid.
    """
    tokenizer = tokenizer or getattr(task or spec.preprocessor, "tokenizer", None)
    if tokenizer is None:
        return None
    check_vocabulary_size(tokenizer, spec.backbone.vocabulary_size)
    if spec.kind not in TEXT_KINDS:
        return task if getattr(task, "long_texts", "head") != "head" else None
    fills = spec.kind == "masked_words"
    task = task or (MaskedWordsTask() if fills else task_of(spec.model))
    if sequence_length is None and fills:
        sequence_length = spec.backbone.max_sequence_length
    elif sequence_length is None:
        sequence_length = task.recipe.sequence_length
    longest = signatures.choose_sequence_length(spec, sequence_length)
    if fills:
        return dataclasses.replace(task, tokenizer=tokenizer, longest=longest)
    recipe = dataclasses.replace(task.recipe, sequence_length=longest)
    return dataclasses.replace(task, tokenizer=tokenizer, recipe=recipe)
