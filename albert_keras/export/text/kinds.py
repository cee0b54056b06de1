"""Registry of the kinds of exported models that answer raw text."""

import dataclasses
import pathlib

from albert_keras.checks import check_choice, check_json
from albert_keras.export.signatures import check_vocabulary, choose_sequence_length
from albert_keras.export.text.choices import Choices
from albert_keras.export.text.masked_words import MaskedWords
from albert_keras.export.text.questions import Questions
from albert_keras.export.text.tagging import Tagging
from albert_keras.files import read_json, write_json
from albert_keras.models import (
    AlbertJointQuestionAnswerer,
    AlbertMaskedLM,
    AlbertMultipleChoice,
    AlbertPretrainer,
    AlbertQuestionAnswerer,
    AlbertTokenClassifier,
)
from albert_keras.tasks.masked_words import MaskedWordsTask
from albert_keras.tasks.prediction import task_of

# Beside the graph: the kind of a model, and what its task must know to read answers.
TASK_FILE = "served_task.json"

# Kinds by their names in `TASK_FILE`. Classifiers of texts and backbones have outputs
# that need no task: `saved_model` traces them.
TEXT_KINDS = {
    "masked_words": MaskedWords(),
    "choices": Choices(),
    "tagging": Tagging(),
    "questions": Questions(),
}
_MODELS = (
    AlbertMaskedLM,
    AlbertPretrainer,
    AlbertMultipleChoice,
    AlbertTokenClassifier,
    AlbertQuestionAnswerer,
    AlbertJointQuestionAnswerer,
)


def kind_of(task):
    """Returns the name of the kind that answers like a task, or `None`."""
    for name, kind in TEXT_KINDS.items():
        if isinstance(task, kind.task_class):
            return name
    return None


def task_to_serve(model, tokenizer="auto", sequence_length=None, task=None):
    """Returns the task of a model of one of `TEXT_KINDS`, or `None`.

    Args:
        model: One of our models.
        tokenizer: A tokenizer of this package, `None` for none, or `"auto"` for that of
            the model's preprocessor.
        sequence_length: int. Default: that of the task.
        task: Task with a tokenizer. Default: that of the model's preprocessor.
    """
    if tokenizer == "auto":
        preprocessor = getattr(model, "preprocessor", None)
        tokenizer = getattr(task or preprocessor, "tokenizer", None)
    if tokenizer is None or not isinstance(model, _MODELS):
        return None
    if isinstance(model, (AlbertMaskedLM, AlbertPretrainer)):
        if sequence_length is not None:
            raise ValueError(
                "Masked words are filled in texts as long as the model takes. "
                f"Received: sequence_length={sequence_length}. Remove it."
            )
        return dataclasses.replace(task or MaskedWordsTask(None), tokenizer=tokenizer)
    task = task or task_of(model)
    if sequence_length is None:
        sequence_length = task.recipe.sequence_length
    sequence_length = choose_sequence_length(model, sequence_length)
    recipe = dataclasses.replace(task.recipe, sequence_length=sequence_length)
    return dataclasses.replace(task, tokenizer=tokenizer, recipe=recipe)


def trace_text(model, task, labels):
    """Returns concrete functions by name that answer text like a task of `TEXT_KINDS`."""
    check_vocabulary(model, task.tokenizer)
    return TEXT_KINDS[kind_of(task)].signatures(model, task, labels)


def write_task(folder, task):
    """Writes what `read_task` needs to a folder."""
    name = kind_of(task)
    options = {field: getattr(task, field) for field in TEXT_KINDS[name].stored}
    pathlib.Path(folder).mkdir(exist_ok=True)
    write_json(pathlib.Path(folder, TASK_FILE), {"kind": name, **options})


def read_task(folder):
    """Returns the content of `TASK_FILE` in a folder, or `None` if there is none."""
    file = pathlib.Path(folder, TASK_FILE)
    if not file.is_file():
        return None
    content = read_json(file)
    check_choice("kind", content.get("kind"), TEXT_KINDS)
    fields = TEXT_KINDS[content["kind"]].stored
    check_json(content, {n: form for n, form in fields.items() if form}, file)
    return content
