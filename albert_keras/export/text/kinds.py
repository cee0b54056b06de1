"""Registry of the kinds of models that answer raw text, and the file of their task."""

import dataclasses
import pathlib

from albert_keras.checks import check_choice, check_json
from albert_keras.export import signatures
from albert_keras.export.text.choices import Choices
from albert_keras.export.text.masked_words import MaskedWords
from albert_keras.export.text.questions import Questions
from albert_keras.export.text.tagging import Tagging
from albert_keras.models import (
    AlbertJointQuestionAnswerer,
    AlbertMaskedLM,
    AlbertMultipleChoice,
    AlbertPretrainer,
    AlbertQuestionAnswerer,
    AlbertTokenClassifier,
)
from albert_keras.system.files import read_json, write_json
from albert_keras.tasks import (
    MultiLabelTask,
    Recipe,
    TextClassificationTask,
    TextRegressionTask,
)
from albert_keras.tasks.masked_words import MaskedWordsTask
from albert_keras.tasks.prediction import task_of
from albert_keras.tasks.text_classification.task import TextTask

# Beside the graph: the kind of the model, and the fields of its task.
TASK_FILE = "served_task.json"


class Texts:
    """Labels or scores of long texts, which a task does not cut at their beginnings.

    A graph of text keeps the first tokens. The task of a model of ids can keep others, or
    cut windows and average their outputs.
    """

    task_class = TextTask
    stored = {"labels": None, "several_labels": bool}  # noqa: RUF012
    ids = {"sequence_length": int, "long_texts": str}  # noqa: RUF012

    def task(self, labels, several_labels):
        """Returns the task of answers, without a tokenizer."""
        if labels is None:
            return TextRegressionTask()
        check_json({"labels": labels}, {"labels": [str]}, TASK_FILE)
        kind = MultiLabelTask if several_labels else TextClassificationTask
        return kind(labels=tuple(labels))


# Kinds by their names in `TASK_FILE`. Text classifiers, embedders and backbones have
# none: their outputs need no task.
TEXT_KINDS = {
    "masked_words": MaskedWords(),
    "choices": Choices(),
    "tagging": Tagging(),
    "questions": Questions(),
}
# Kinds of models of ids.
IDS_KINDS = {**TEXT_KINDS, "texts": Texts()}
MODELS_OF_KINDS = (
    *(AlbertMaskedLM, AlbertPretrainer, AlbertMultipleChoice, AlbertTokenClassifier),
    *(AlbertQuestionAnswerer, AlbertJointQuestionAnswerer),
)


def kind_of(task, kinds=TEXT_KINDS):
    """Returns the name of the kind that answers like a task, or `None`."""
    for name, kind in kinds.items():
        if isinstance(task, kind.task_class):
            return name
    return None


def task_to_serve(model, tokenizer="auto", sequence_length=None, task=None):
    """Returns the task of a model of one of `TEXT_KINDS`, or `None`.

    Args:
        model: One of our models.
        tokenizer: A tokenizer of this package, `None` for none, or `"auto"` for that of
            the task or the model's preprocessor.
        sequence_length: int. Default: the task's.
        task: Task with a tokenizer. Default: that of the model's preprocessor.

    Raises:
        ValueError: If the model has no embedding for some tokens, or a length is invalid.
    """
    if tokenizer == "auto":
        preprocessor = getattr(model, "preprocessor", None)
        tokenizer = getattr(task or preprocessor, "tokenizer", None)
    if tokenizer is None or not isinstance(model, MODELS_OF_KINDS):
        return None
    signatures.check_vocabulary(model, tokenizer)
    if isinstance(model, (AlbertMaskedLM, AlbertPretrainer)):
        if sequence_length is not None:
            raise ValueError(
                "Masked words are filled in texts of any length that the model takes. "
                f"Received: sequence_length={sequence_length}. Remove it."
            )
        return dataclasses.replace(task or MaskedWordsTask(), tokenizer=tokenizer)
    task = task or task_of(model)
    if sequence_length is None:
        sequence_length = task.recipe.sequence_length
    sequence_length = signatures.choose_sequence_length(model, sequence_length)
    recipe = dataclasses.replace(task.recipe, sequence_length=sequence_length)
    return dataclasses.replace(task, tokenizer=tokenizer, recipe=recipe)


def task_beside(model, tokenizer, task):
    """Returns the task that makes the ids of a model of ids, or `None`.

    Args:
        model: One of our models.
        tokenizer: A tokenizer of this package, or `None`.
        task: Task of the model, or `None` for that of its preprocessor.
    """
    if isinstance(task, TextTask) and task.long_texts != "head":
        return task
    task = task_to_serve(model, tokenizer, task=task)
    if isinstance(task, MaskedWordsTask):
        longest = signatures.backbone_config(model).max_sequence_length
        return dataclasses.replace(task, longest=longest)
    return task


def write_task(folder, task, is_of_ids=False):
    """Writes what `read_task` needs to a folder.

    For a model of ids this includes how the task makes them.
    """
    name = kind_of(task, IDS_KINDS)
    kind = IDS_KINDS[name]
    content = {field: getattr(task, field, None) for field in kind.stored}
    if is_of_ids:
        content["ids"] = {
            field: getattr(task.recipe if field == "sequence_length" else task, field)
            for field in kind.ids
        }
    write_json(pathlib.Path(folder, TASK_FILE), {"kind": name, **content})


def read_task(folder, tokenizer=None):
    """Returns what `write_task` wrote to a folder.

    Args:
        folder: str or path.
        tokenizer: Tokenizer of the task, for a model of ids.

    Returns:
        Tuple of the entry of `TEXT_KINDS`, or `None` for a model of ids, and the task.
        Both are `None` if there is no file.
    """
    file = pathlib.Path(folder, TASK_FILE)
    if not file.is_file():
        return None, None
    content = read_json(file)
    is_of_ids = "ids" in content
    check_choice("kind", content.get("kind"), IDS_KINDS if is_of_ids else TEXT_KINDS)
    kind = IDS_KINDS[content.pop("kind")]
    check_json(content, {n: form for n, form in kind.stored.items() if form}, file)
    if not is_of_ids:
        return kind, kind.task(**content)
    ids = content.pop("ids")
    check_json(ids, kind.ids, file)
    if "sequence_length" in ids:
        ids["recipe"] = Recipe(sequence_length=ids.pop("sequence_length"))
    return None, dataclasses.replace(kind.task(**content), tokenizer=tokenizer, **ids)
