"""Multiple-choice questions."""

from albert_keras.tasks.multiple_choice.task import RACE, MultipleChoiceTask
