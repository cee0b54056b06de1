"""Multiple choice."""

from albert_keras.tasks.multiple_choice.task import RACE, MultipleChoiceTask
