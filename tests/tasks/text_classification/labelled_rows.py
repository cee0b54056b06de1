"""Rows with labels, and tasks for their length."""

import dataclasses

from albert_keras.tasks.text_classification.reading import LabelledTexts
from tests.tasks.task_checks import LENGTH

TEXTS = [
    *("the soup was warm and very good", "the film was long and dull"),
    *("a walk by the river", "good bread and a good cheese", "dull and cold"),
    *("the boat went down the river to the sea", "long"),
]
LABELS = ["good", "bad", "river", "good", "bad", "river", "bad"]
ROWS = LabelledTexts(TEXTS, LABELS)


def recipe(task, **changes):
    return dataclasses.replace(
        task, recipe=dataclasses.replace(task.recipe, sequence_length=LENGTH, **changes)
    )
